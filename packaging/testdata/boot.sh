# Starts systemd on a copy of this system that is thrown away, has it run a script, and prints
# what the script does. It runs in a mount namespace of its own.
#
#	unshare --mount --propagation private sh boot.sh DIR SCRIPT DEB VERSION
set -e
dir=$1
mkdir -p "$dir/upper" "$dir/work" "$dir/root"
# The copy must not be in the system that is copied.
mount -t tmpfs tmpfs "$dir"
mkdir -p "$dir/upper" "$dir/work" "$dir/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/upper,workdir=$dir/work" "$dir/root"
root=$dir/root
cp "$2" "$root/script.sh"
cp "$3" "$root/package.deb"
echo "$4" >"$root/version"
echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
cat >"$root/etc/systemd/system/dogwood-test.service" <<'UNIT'
[Unit]
SuccessAction=exit
FailureAction=exit
[Service]
Type=oneshot
ExecStart=/bin/sh /script.sh
StandardOutput=file:/script.log
StandardError=file:/script.log
TimeoutStartSec=240
UNIT
timeout -k 10 300 systemd-nspawn -D "$root" --register=no --keep-unit --private-network --console=pipe -M "dogwood-test-$$" \
	--boot systemd.unit=dogwood-test.service systemd.log_target=null </dev/null >"$dir/boot.log" 2>&1 || true
cat "$dir/boot.log" "$root/script.log"
tail -n 1 "$root/script.log" | grep -qx passed
