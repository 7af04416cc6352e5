#!/bin/sh
# After an installation or an upgrade. The service is neither enabled nor started by the
# package: without rules, it denies everything. One that runs is restarted by an upgrade.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart dogwood.service
fi
