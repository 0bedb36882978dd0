# Runs a command in the root directory of a bare Debian, with a small /dev/shm and few open files, as on most machines.
#
# Arguments: the root directory, the toolchain, the user, the user's home, the command, and then variables for it. The
# script runs in new mount and process namespaces, so its mounts and children end with it.
set -e
root=$1 toolchain=$2 user=$3 home=$4 command=$5
shift 5

mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=755 dev "$root/dev"
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,mode=620,ptmxmode=666 devpts "$root/dev/pts"
mount -t tmpfs -o size=64m,mode=1777 shm "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s /proc/self/fd/0 "$root/dev/stdin"
ln -s /proc/self/fd/1 "$root/dev/stdout"
ln -s /proc/self/fd/2 "$root/dev/stderr"
mkdir -p "$root/opt/rust"
mount --bind "$toolchain" "$root/opt/rust"

ulimit -Sn 1024
path=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
exec chroot "$root" runuser -u "$user" -- env -i "HOME=$home" "PATH=$path" "$@" \
    sh -c 'cd ~/gatehouse 2>/dev/null || cd ~; eval "$1"' command "$command"
