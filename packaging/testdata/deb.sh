# Runs in a container that systemd has started: installs the package, starts the service, uses
# it, upgrades, and removes the package. /package.deb and /version are there.
set -ex
export DOGWOOD_URL=http://127.0.0.1:9000
not() {
	if "$@"; then exit 1; fi
}
get() { dogwood get "$1" --secret-file /var/lib/private/dogwood/admin-secret; }

dpkg -i /package.deb
dogwood version | grep -F "dogwood $(cat /version), revision "
test -s /usr/share/man/man1/dogwood-serve.1.gz
test -s /usr/share/bash-completion/completions/dogwood
test -s /usr/share/doc/dogwood/THIRD_PARTY.txt
test -s /usr/share/dogwood/monitoring/alerts.yml
test -s /usr/share/dogwood/monitoring/dashboard.json
# An installation starts nothing.
not systemctl is-active dogwood
not systemctl is-enabled dogwood

systemctl start dogwood
for i in $(seq 100); do
	dogwood health && break
	sleep 0.2
done
dogwood health
# It has a user of its own, which owns the data, and may open many connections.
pid=$(systemctl show -p MainPID --value dogwood)
test "$(stat -c %u "/proc/$pid")" -ge 61184
# A container may have less.
most=$( (ulimit -n 1048576 2>/dev/null && echo 1048576) || ulimit -Hn)
test "$(awk '/open files/ { print $4 }' "/proc/$pid/limits")" = "$most"
grep -q '^NoNewPrivs:.*1' "/proc/$pid/status"
grep -q '^Seccomp:.*2' "/proc/$pid/status"
test "$(stat -c %a /var/lib/private/dogwood)" = 700
echo '{"a":{"b":1}}' | dogwood set / --secret-file /var/lib/private/dogwood/admin-secret
get /a/b | grep -x 1

# Root works on the data of a service that runs. The service can read all that root makes, so
# a revocation is not one of all users.
dogwood token revoke --uid x --data /var/lib/private/dogwood
dogwood token create --uid y --secret-file /var/lib/private/dogwood/admin-secret >/token-y
curl -s "$DOGWOOD_URL/a/b.json?auth=$(cat /token-y)" | grep -F 'Permission denied' # by the rules
dogwood token revoke --uid y --data /var/lib/private/dogwood
curl -s "$DOGWOOD_URL/a/b.json?auth=$(cat /token-y)" | grep -F 'Auth token is expired'
test -z "$(find /var/lib/private/dogwood -user root)"

# A setting of the administrator's, and the files read again.
echo DOGWOOD_PORT=9001 >>/etc/dogwood/dogwood.env
systemctl reload dogwood
systemctl restart dogwood
export DOGWOOD_URL=http://127.0.0.1:9001
for i in $(seq 100); do
	dogwood health --url $DOGWOOD_URL && break
	sleep 0.2
done
get /a/b | grep -x 1

# An upgrade restarts what runs and keeps the setting.
before=$(systemctl show -p MainPID --value dogwood)
dpkg -i /package.deb
for i in $(seq 100); do
	dogwood health --url $DOGWOOD_URL && break
	sleep 0.2
done
test "$(systemctl show -p MainPID --value dogwood)" != "$before"
get /a/b | grep -x 1

# A stop is clean.
systemctl stop dogwood
test "$(systemctl show -p Result --value dogwood)" = success
dogwood check /var/lib/private/dogwood/default.db

# Nor does root lock the service out of its files.
dogwood compact --data /var/lib/private/dogwood
echo '{"c":1}' | dogwood import /a - --yes --data /var/lib/private/dogwood
systemctl start dogwood
for i in $(seq 100); do
	dogwood health --url $DOGWOOD_URL && break
	sleep 0.2
done
get /a/c | grep -x 1
test -z "$(find /var/lib/private/dogwood -user root)"
systemctl stop dogwood

# A removal stops it and keeps the data, and a purge its settings only.
systemctl enable --now dogwood
dpkg -r dogwood
not systemctl is-active dogwood
not test -e /usr/bin/dogwood
test -s /var/lib/private/dogwood/default.db
dpkg -P dogwood
not test -e /etc/dogwood/dogwood.env
test -s /var/lib/private/dogwood/default.db
echo passed
