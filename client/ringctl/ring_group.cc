#include "client/ringctl/ring_group.h"

#include "client/ringctl/commands.h"
#include "client/ringctl/flag_values.h"
#include "client/ringctl/help_texts.h"
#include "client/ringctl/ring_import.h"

namespace ringd::ctl {

using Node = CommandTree::Node;

void RingGroup::AddTo(const AddCommand& add) {
  Node* ring = tree_.AddGroup("ring", "create, import, get, list, update, restore or delete rings");
  Node* create = add(
      ring, "create", "make an empty ring", {"RING"},
      [this](const Words& words) {
        create_.ring = words[0];
        create_.mutation = mutation_;
        Session session(global_);
        return RingCreate(session, create_);
      },
      LastWord::kIsNew);
  AddSettings(create);
  AddImport(ring, add);
  add(
      ring, "get", "show a ring and its nodes with their shares", {"RING"},
      [this](const Words& words) {
        Session session(global_);
        return RingGet(session, words[0]);
      },
      LastWord::kOnce);
  add(
      ring, "list", "list the rings", {},
      [this](const Words&) {
        Session session(global_);
        return RingList(session);
      },
      LastWord::kOnce);
  AddUpdate(ring, add);
  AddRestore(ring, add);
  Node* remove = add(
      ring, "delete", "delete a ring with its nodes and its history", {"RING"},
      [this](const Words& words) {
        Session session(global_);
        return RingDelete(session, words[0], mutation_);
      },
      LastWord::kOnce);
  AddMutationFlags(tree_, remove, &mutation_);
  AddIfVersion(tree_, remove, &mutation_);
  AddForce(remove, &mutation_, "even if the ring has nodes");
}

// What makes a ring takes these.
void RingGroup::AddSettings(Node* node) {
  AddPlacement(node);
  AddNumber(tree_, node, "--default-weight", &create_.default_weight,
            "weight of nodes that are added without one [100; 1 in a preset]");
  AddPairs(node, "--label", &create_.labels, "a label of the ring; may come again");
  AddMutationFlags(tree_, node, &mutation_);
  AddWaitFlags(tree_, node, &mutation_);
}

void RingGroup::AddPlacement(Node* node) {
  PlacementOptions& placement = create_.placement;
  AddText(tree_, node, {"--placement", "KIND", "how nodes get keys: slots, hashed or points [slots]", "", KindNames()},
          &placement.kind);
  AddNumber(tree_, node, "--slot-bits", &placement.slot_bits, "of slots: there are 2^N of them [16]");
  AddNumber(tree_, node, "--slot-owners", &placement.slot_owners, "of slots: owners that each keeps [1]");
  AddNumber(tree_, node, "--points-per-weight", &placement.points_per_weight,
            "of hashed: points on the circle for each unit of weight [2]");
  AddText(tree_, node,
          {"--hash", "HASH", "hash function of keys and labels [xxh3-64, or the preset's]", "", HashNames()},
          &placement.hash);
  AddText(tree_, node, {"--point-label", "TEXT", "of hashed: what is hashed for a point [{key}#{index}]", "", {}},
          &placement.point_label);
  AddText(tree_, node,
          {"--match", "RULE", "of hashed and points: which point a key belongs to [at-or-after]", "", MatchNames()},
          &placement.match);
  AddText(tree_, node,
          {"--tie-rule", "RULE", "of hashed and points: which of two points on one position is first [node-id]", "",
           TieRuleNames()},
          &placement.tie_rule);
  tree_.AddFlag(node, {"--last-position", "N", "of points: where the circle ends, which begins at 0 [2^64 - 1]"},
                [&placement](const std::string& text) {
                  return Assign(ParsePosition("last-position", text), &placement.last_position);
                });
  AddText(tree_, node, {"--hash-tag", "XY", "hash only what stands between an X and the next Y of a key", "", {}},
          &placement.hash_tag);
  AddText(tree_, node,
          {"--preset", "NAME", "a ring that other programs run, instead of a placement", "", PresetNames()},
          &placement.preset);
  AddNumber(tree_, node, "--min-ring-size", &placement.minimum_ring_size, "of envoy-ring-hash [1024]");
  AddNumber(tree_, node, "--max-ring-size", &placement.maximum_ring_size, "of envoy-ring-hash [8388608]");
}

void RingGroup::AddImport(Node* ring, const AddCommand& add) {
  Node* import = add(
      ring, "import", "make a ring, with its nodes, of a file that another program reads", {"NAME", "FILE"},
      [this](const Words& words) {
        import_.ring = create_;
        import_.ring.ring = words[0];
        import_.ring.mutation = mutation_;
        import_.file = words[1];
        Session session(global_);
        return RingImport(session, import_);
      },
      LastWord::kOnce);
  AddText(tree_, import, {"--format", "FORMAT", "what FILE is [told by the file]", "", ImportFormatNames()},
          &import_.format);
  AddText(tree_, import, {"--pool", "NAME", "of a nutcracker.yml, where it has several"}, &import_.pool);
  AddText(tree_, import, {"--upstream", "NAME", "of a configuration of nginx, where it has several"},
          &import_.upstream);
  AddSettings(import);
  tree_.SetFooter(import, kImportFooter);
}

void RingGroup::AddUpdate(Node* ring, const AddCommand& add) {
  Node* update = add(
      ring, "update", "change settings of a ring, which moves no key", {"RING"},
      [this](const Words& words) {
        if (clear_labels_ && update_.labels) return tree_.ReportUsage("--label and --clear-labels do not go together");
        if (clear_labels_) update_.labels.emplace();
        if (!update_.default_weight && !update_.labels && !update_.history_max && !update_.history_age) {
          return tree_.ReportUsage(
              "nothing to update",
              "name a setting: --default-weight, --label, --clear-labels, --history-max or --history-age");
        }
        update_.ring = words[0];
        update_.mutation = mutation_;
        Session session(global_);
        return RingUpdate(session, update_);
      },
      LastWord::kOnce);
  AddNumber(tree_, update, "--default-weight", &update_.default_weight,
            "weight of nodes that are added without one from now on");
  AddPairs(update, "--label", &update_.labels,
           "a label of the ring; may come again; all of it replaces all that was there");
  CommandTree::AddSwitch(update, "--clear-labels", &clear_labels_, "remove all labels");
  AddNumber(tree_, update, "--history-max", &update_.history_max, "how many records of changes are kept");
  tree_.AddFlag(
      update, {"--history-age", "TIME", "how long records of changes are kept, such as 720h"},
      [this](const std::string& text) { return Assign(ParseAge("history-age", text), &update_.history_age); });
  AddMutationFlags(tree_, update, &mutation_);
  AddWaitFlags(tree_, update, &mutation_);
  AddIfVersion(tree_, update, &mutation_);
}

void RingGroup::AddRestore(Node* ring, const AddCommand& add) {
  Node* restore = add(
      ring, "restore", "go back to the nodes of an earlier version, as a new change", {"RING"},
      [this](const Words& words) {
        if (!restore_.to) return tree_.ReportUsage("--to E/R is missing");
        restore_.ring = words[0];
        restore_.mutation = mutation_;
        Session session(global_);
        return RingRestore(session, restore_);
      },
      LastWord::kOnce);
  AddVersion(tree_, restore, "--to", &restore_.to, "the version; `ringctl history RING` shows those that are kept");
  AddMutationFlags(tree_, restore, &mutation_);
  AddWaitFlags(tree_, restore, &mutation_);
  AddIfVersion(tree_, restore, &mutation_);
  AddForce(restore, &mutation_, kForceOfNodes);
}

}  // namespace ringd::ctl
