// The ketama presets against libmemcached itself, in this process: it places keys without a connection.
#include <gtest/gtest.h>
#include <libmemcached/memcached.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/golden/golden_ring.h"

namespace ringd::ring {
namespace {

struct Server {
  std::string host;
  in_port_t port;
  uint32_t weight;
};

// What libmemcached answers for a list of servers.
class Peer {
 public:
  Peer(Preset preset, const std::vector<Server>& servers) : memc_(memcached_create(nullptr)) {
    const auto behavior = preset == Preset::kKetama ? MEMCACHED_BEHAVIOR_KETAMA : MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED;
    EXPECT_EQ(memcached_behavior_set(memc_.get(), behavior, 1), MEMCACHED_SUCCESS);
    EXPECT_EQ(memcached_behavior_set(memc_.get(), MEMCACHED_BEHAVIOR_HASH, MEMCACHED_HASH_MD5), MEMCACHED_SUCCESS);
    for (const Server& server : servers) {
      EXPECT_EQ(memcached_server_add_with_weight(memc_.get(), server.host.c_str(), server.port, server.weight),
                MEMCACHED_SUCCESS);
    }
  }

  size_t Owner(const std::string& key) const { return memcached_generate_hash(memc_.get(), key.data(), key.size()); }

 private:
  struct Free {
    void operator()(memcached_st* memc) const { memcached_free(memc); }
  };
  std::unique_ptr<memcached_st, Free> memc_;
};

std::string HashKeyOf(const Server& server) { return server.host + ":" + std::to_string(server.port); }

GoldenRing Ours(Preset preset, const std::vector<Server>& servers) {
  std::vector<GoldenRing::Node> nodes;
  for (const Server& server : servers) nodes.push_back({HashKeyOf(server), server.weight});
  return {DefaultsOf(preset), nodes};
}

void ExpectSameOwners(Preset preset, const std::vector<Server>& servers) {
  const Peer peer(preset, servers);
  const GoldenRing ours = Ours(preset, servers);
  const Ring real = ours.Real();
  for (int i = 0; i < 10'000; ++i) {
    const std::string key = (i % 3 == 0 ? "session/" : "ключ:") + std::to_string(i * 7919);
    const std::string owner = HashKeyOf(servers.at(peer.Owner(key)));
    ASSERT_EQ(ours.Owner(key).owner, owner) << key << " of " << servers.size();
    ASSERT_EQ(OwnerId(real, key), owner) << key << " of " << servers.size();
  }
}

// REQUIRES at most 100, of which libmemcached asserts that there are no more.
std::vector<Server> Servers(size_t count, uint32_t (*weight)(uint32_t)) {
  std::vector<Server> servers;
  for (uint32_t i = 0; i < count; ++i) {
    const in_port_t port = i % 2 == 0 ? 11211 : static_cast<in_port_t>(11212 + i % 5);
    servers.push_back({"cache-" + std::to_string(i * 37 % 1000) + ".example.net", port, weight(i)});
  }
  return servers;
}

TEST(KetamaPeer, AgreesOnTenThousandKeysOfOtherNodeLists) {
  for (const size_t count : {2, 3, 7, 50, 100}) {
    ExpectSameOwners(Preset::kKetama, Servers(count, [](uint32_t) { return 1U; }));
  }
}

// Counts and weights whose shares are no whole digests, and where floats round.
TEST(KetamaPeer, AgreesOnTenThousandKeysOfOtherWeights) {
  for (const size_t count : {2, 3, 7, 41, 50, 97, 100}) {
    ExpectSameOwners(Preset::kKetamaWeighted, Servers(count, [](uint32_t) { return 1U; }));
    ExpectSameOwners(Preset::kKetamaWeighted, Servers(count, [](uint32_t i) { return 1 + i * i % 13; }));
    ExpectSameOwners(Preset::kKetamaWeighted, Servers(count, [](uint32_t i) { return 1 + i * 9973 % 65535; }));
  }
}

// The cases' one-point collision: the node that comes first in the list owns the point, whatever its name.
TEST(KetamaPeer, GivesASharedPointToTheNodeThatComesFirst) {
  const Server a = {"172.31.1.125", 11211, 1};
  const Server b = {"172.31.1.202", 11211, 1};
  const Server c = {"172.31.1.0", 11211, 1};
  for (const std::vector<Server>& servers : {std::vector{a, b, c}, std::vector{b, a, c}, std::vector{c, b, a}}) {
    const Peer peer(Preset::kKetamaWeighted, servers);
    const GoldenRing ours = Ours(Preset::kKetamaWeighted, servers);
    const std::string first = HashKeyOf(servers[0].host == c.host ? servers[1] : servers[0]);
    for (const char* key : {"key-1019", "key-2524", "key-2552"}) {
      EXPECT_EQ(HashKeyOf(servers.at(peer.Owner(key))), first) << key;
      EXPECT_EQ(ours.Owner(key).owner, first) << key;
      EXPECT_EQ(OwnerId(ours.Real(), key), first) << key;
    }
  }
}

}  // namespace
}  // namespace ringd::ring
