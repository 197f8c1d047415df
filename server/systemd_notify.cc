#include "server/systemd_notify.h"

#ifdef RINGD_HAS_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

namespace ringd::server {
namespace {

void Notify([[maybe_unused]] const char* state) {
#ifdef RINGD_HAS_SYSTEMD
  (void)sd_notify(/*unset_environment=*/0, state);
#endif
}

}  // namespace

void NotifyReady() { Notify("READY=1"); }
void NotifyReloading() { Notify("RELOADING=1"); }
void NotifyStopping() { Notify("STOPPING=1"); }

}  // namespace ringd::server
