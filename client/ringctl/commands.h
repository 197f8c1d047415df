#pragma once

#include <string>

#include "client/ringctl/exit_code.h"
#include "client/ringctl/options.h"
#include "client/ringctl/session.h"

namespace ringd::ctl {

// The commands. Each prints its data on standard output, its errors on stderr, and answers how ringctl ends.

ExitCode RingCreate(Session& session, const RingCreateOptions& options);
// RingImport makes a ring, with its nodes, of a file that another program reads, or of an export of `ring get`.
ExitCode RingImport(Session& session, const RingImportOptions& options);
ExitCode RingGet(Session& session, const std::string& ring);
ExitCode RingList(Session& session);
// REQUIRES: a setting is given.
ExitCode RingUpdate(Session& session, const RingUpdateOptions& options);
// REQUIRES: a version is given.
ExitCode RingRestore(Session& session, const RingRestoreOptions& options);
ExitCode RingDelete(Session& session, const std::string& ring, const MutationFlags& flags);

ExitCode NodeAdd(Session& session, const NodeOptions& options);
// REQUIRES: a field but hash_key is given.
ExitCode NodeUpdate(Session& session, const NodeOptions& options);
ExitCode NodeRemove(Session& session, const NodeOptions& options);
ExitCode NodeList(Session& session, const std::string& ring);

// Apply makes the nodes of a ring those of a file, as one change: of the version that was compared with the file, so
// that nobody else's change is undone.
ExitCode Apply(Session& session, const ApplyOptions& options);

// Diff tells what Apply would do: kOk nothing, kDiffers something, kCannotTell where the server said no.
ExitCode Diff(Session& session, const DiffOptions& options);

// DiffVersions tells what moved between two versions: kOk nothing, kDiffers something, kCannotTell where the server
// said no. Table: pairs of nodes; tsv: the ranges; json: all of it, as one DiffVersionsResponse. REQUIRES: `from` is
// given.
ExitCode DiffVersions(Session& session, const ComparedVersions& versions);

// Moved tells those keys of a file whose owner differs between two versions, with both owners. It asks the server for
// the ranges that moved alone, and places the keys itself, in constant memory beside those ranges.
//   tsv: key, owner before, owner after.
//   json: {"from", "to", "keys": [{"key", "from", "to"}, ...]}, a key a line; a key that is not UTF-8 is "key_base64".
// REQUIRES: `from` is given, and another format than yaml.
ExitCode Moved(Session& session, const MovedOptions& options);

// Ranges tells what a node owns.
ExitCode Ranges(Session& session, const std::string& ring, const std::string& node);

// Explain tells why a key has its owners.
//   json: {"key", "version", "hash", "hash_hex", "point" or "slot", "owners": [{"id", "address", "zone", "why"}, ...],
//   "owners_short", "weightless": [id, ...]}.
ExitCode Explain(Session& session, const ExplainOptions& options);

// Simulate tells what the other nodes of a ring would own if some were lost; it changes nothing.
//   tsv: id, share now, share then, how many times as much; the worst first.
//   json: {"version", "lost": [id, ...], "nodes": [{"id", "share", "share_then", "ratio"}, ...], "movement"}.
ExitCode Simulate(Session& session, const SimulateOptions& options);

// History tells a ring's kept changes, newest first.
ExitCode History(Session& session, const HistoryOptions& options);

// Lookup answers keys in their order. Keys of stdin are sent in batches while they are read, in constant memory. Where
// a key is refused, those before it have been answered, and the error names its line.
//   tsv: key, tab, ids of the owners with commas between them.
//   json: one key of the command line: its LookupResponse. Else {"results": [{"key", "owners", "version"}, ...]}, a
//   result a line, closed even when it ends early; a key that is not UTF-8 is "key_base64".
ExitCode Lookup(Session& session, const LookupOptions& options);

// Verify compares the owners of keys with those that a file tells, a line `KEY<TAB>OWNER` a key, as `lookup -o tsv`
// prints them; the file is read while its keys are asked for, in constant memory. It prints each line that differs,
// with the owner that the key has: kOk none, kDiffers some, kCannotTell where the server said no. A line that makes no
// sense, and a file without any, are kUsage.
ExitCode Verify(Session& session, const VerifyOptions& options);

// Watch prints what happens to a ring, a line an event, until it is interrupted or refused for good. It reconnects
// for ever, the first time included, and goes on from where it was. With a name it tells the directory what it printed.
ExitCode Watch(const GlobalOptions& global, const WatchOptions& options);

// Watchers tells who watches a ring, or any where `ring` is empty: ring, name, peer, versions sent, applied and of the
// ring, how many revisions behind, since when.
ExitCode Watchers(Session& session, const std::string& ring);

// Status asks every endpoint for its health, build and rings; kOk only if all serve.
ExitCode Status(const GlobalOptions& global);

// Version prints the version of ringctl and that of the server, if one answers soon.
ExitCode Version(const GlobalOptions& global);

}  // namespace ringd::ctl
