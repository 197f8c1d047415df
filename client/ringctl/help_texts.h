#pragma once

namespace ringd::ctl {

// The longer texts of ringctl's help.

inline constexpr char kAbout[] = "ringctl asks and changes ringd, the directory that knows which node owns a key.";

inline constexpr char kFooter[] =
    "Examples:\n"
    "  ringctl ring create cache\n"
    "  ringctl node add cache n1 --address 10.0.0.1:6379 --weight 100\n"
    "  ringctl lookup cache user:42\n"
    "  ringctl lookup cache - -o tsv < keys.txt\n"
    "  ringctl diff cache -f nodes.yaml\n"
    "  ringctl ring import sessions nutcracker.yml --pool sessions\n"
    "  ringctl watch cache -o json\n"
    "\n"
    "Exit codes: 0 ok, 1 the server said no, 2 wrong usage, 3 no server reached in time, 4 permission or TLS. Of diff\n"
    "and verify: 0 the same, 1 it differs, or keys moved, 5 the server said no. Of --wait-for: 6 made, and too few "
    "watchers\n"
    "have applied it.\n"
    "The flags above work after the command too. `ringctl COMMAND --help` tells more.";

inline constexpr char kForceOfNodes[] =
    "even if it takes more than half of the ring's weight, or its last weighted node";

inline constexpr char kFileFooter[] =
    "FILE has all nodes of the ring; what it does not write of a node has its default:\n"
    "  nodes:\n"
    "  - id: n1\n"
    "    address: 10.0.0.1:6379\n"
    "    weight: 100              # the ring's default weight\n"
    "    zone: a\n"
    "    hash_key: n1             # the id; cannot be changed\n"
    "    metadata: {rack: r7}\n"
    "    points: [17, 4711]       # in a ring of points alone\n"
    "\n"
    "`ringctl ring get RING -o yaml > FILE` is a beginning. FILE may be `-`: then it comes from stdin.";

inline constexpr char kImportFooter[] =
    "FILE, or stdin where it is `-`, is one of these. What it is, its first line tells, or --format:\n"
    "  nutcracker   nutcracker.yml; a ring of preset twemproxy\n"
    "  nginx        a configuration of nginx, with an upstream { hash KEY consistent; ... }; of preset nginx\n"
    "  list         HOST[:PORT] [WEIGHT], a node a line; --preset or the flags of a placement say which ring it is\n"
    "  json         what `ringctl ring get -o json` prints\n"
    "  redis        what `redis-cli CLUSTER NODES` or CLUSTER SLOTS prints; of preset redis-cluster. Where the ring "
    "is\n"
    "               there already, it becomes what FILE says, as one change\n"
    "The nodes join in the order of the file, as one change. --dry-run shows what would be made. Prove it then:\n"
    "  ringctl verify NAME owners.tsv";

inline constexpr char kVerifyFooter[] =
    "FILE, or stdin where it is `-`, has a line KEY<TAB>OWNER a key, as `ringctl lookup -o tsv` prints them: OWNER is\n"
    "the id of a node; control bytes, backslash and bytes that are not UTF-8 are \\xHH. The lines that differ are\n"
    "printed, with the owner that the key has. Exit code 5: the server said no.";
inline constexpr char kDiffFooter[] =
    "With -f it compares a ring with a file, which `ringctl apply --help` describes, and changes nothing. With --from "
    "it\n"
    "tells what moved between two versions of the history, from whom to whom; -o tsv prints the ranges of hashes:\n"
    "FIRST<TAB>LAST<TAB>FROM<TAB>TO, with an empty cell for nobody.\n"
    "  ringctl diff cache -f nodes.yaml\n"
    "  ringctl diff cache --from 1789/41";

inline constexpr char kMovedFooter[] =
    "-o tsv prints KEY<TAB>FROM<TAB>TO, with an empty cell for nobody; control bytes, backslash and bytes that are "
    "not\n"
    "UTF-8 are \\xHH. Keys that did not move are not printed. FILE may be `-`: then keys come from stdin.\n"
    "  ringctl moved cache --from 1789/41 --to 1789/42 keys.txt\n"
    "  redis-cli --scan | ringctl moved cache --from 1789/41 - -o tsv";

inline constexpr char kSimulateFooter[] =
    "The worst is the node whose share would grow most, against its share now.\n"
    "  ringctl simulate cache --lose n1 --lose n2\n"
    "  ringctl simulate cache --lose-zone a";

inline constexpr char kUpdateFooter[] =
    "To drain a node, lower its weight in steps, at last to 0: it owns nothing then, and stays listed.\n"
    "  ringctl node update cache n1 --weight 50 --dry-run\n"
    "  ringctl node update cache n1 --weight 0 --reason 'new disk'";

inline constexpr char kRemoveFooter[] =
    "A node that still owns keys gives them up at once. To drain it first, lower its weight in steps, at last to 0:\n"
    "  ringctl node update cache n1 --weight 0\n"
    "  ringctl node remove cache n1";

inline constexpr char kLookupFooter[] =
    "-o tsv prints KEY<TAB>OWNER[,OWNER...]; control bytes, backslash and bytes that are not UTF-8 are \\xHH, and "
    "so\n"
    "is a comma inside an id. -o json prints the answer of one key, or of many\n"
    "{\"results\":[{\"key\",\"owners\",\"version\"},...]}, a result a line; a key that is not UTF-8 is "
    "\"key_base64\".\n"
    "--timeout holds for each batch. After `--` a KEY may begin with `-`.";

inline constexpr char kCompletionFooter[] =
    "SHELL is bash, zsh or fish. To have it in a shell that runs:\n"
    "  source <(ringctl completion bash)\n"
    "  source <(ringctl completion zsh)           # after compinit\n"
    "  ringctl completion fish | source";

}  // namespace ringd::ctl
