// Tells systemd how a service of Type=notify fares. Nothing happens where systemd did not start the process, or the
// build had no libsystemd. Any thread.
#pragma once

namespace ringd::server {

void NotifyReady();      // it serves, at first and after a reload
void NotifyReloading();  // it reads its configuration again
void NotifyStopping();

}  // namespace ringd::server
