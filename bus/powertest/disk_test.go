package powertest_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	fuse "github.com/hanwen/go-fuse/v2/fs"
	wire "github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
)

// disk is a file system of which a power cut leaves what was synced: of each file what it was at its last sync, and all
// names, as if their directories were synced at once.
type disk struct {
	path string // where it is mounted
	kept string // the folder with what a power cut leaves

	mu sync.Mutex // protects what is kept

	nodes sync.Map // *node that were written to
}

// newDisk mounts an empty disk until the end of the test.
func newDisk(t *testing.T) *disk {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("no power is cut: a disk that forgets takes /dev/fuse")
	}
	d := &disk{path: t.TempDir(), kept: t.TempDir()}
	source := t.TempDir()
	root := &fuse.LoopbackRoot{Path: source}
	node := d.node(root)
	root.RootNode = node
	server, err := fuse.Mount(d.path, node, &fuse.Options{MountOptions: wire.MountOptions{
		DirectMount: true, FsName: "forgetful", Name: "forgetful"}})
	require.NoError(t, err, "a disk cannot be mounted: it takes /dev/fuse, and root or fusermount3")
	t.Cleanup(func() { require.NoError(t, server.Unmount()) })
	return d
}

// settle keeps what was written, as kernels do by themselves after a while: Linux after half a minute.
func settle(disks []*disk) {
	for _, each := range disks {
		each.nodes.Range(func(written, _ any) bool {
			written.(*node).sync()
			return true
		})
	}
}

// newDisks is newDisk for several, and where they are mounted.
func newDisks(t *testing.T, count int) (disks []*disk, folders []string) {
	t.Helper()
	for range count {
		disks = append(disks, newDisk(t))
		folders = append(folders, disks[len(disks)-1].path)
	}
	return disks, folders
}

// cut returns copies of what a power cut now leaves of disks.
func cut(t *testing.T, disks []*disk) (left []string) {
	t.Helper()
	for _, each := range disks {
		folder := filepath.Join(t.TempDir(), "disk")
		each.mu.Lock()
		err := os.CopyFS(folder, os.DirFS(each.kept))
		each.mu.Unlock()
		require.NoError(t, err)
		left = append(left, folder)
	}
	return left
}

// node is a file or a folder.
type node struct {
	fuse.LoopbackNode

	disk *disk

	mu      sync.Mutex // protects all below
	pending []change   // since the last sync
}

// change is a write, or one of the length.
type change struct {
	data   []byte
	offset int64
	length int64 // -1 for a write
}

func (d *disk) node(root *fuse.LoopbackRoot) *node {
	return &node{LoopbackNode: fuse.LoopbackNode{RootData: root}, disk: d}
}

// WrapChild makes the nodes of what is in a folder.
func (n *node) WrapChild(_ context.Context, child fuse.InodeEmbedder) fuse.InodeEmbedder {
	if _, isPlain := child.(*fuse.LoopbackNode); isPlain {
		return n.disk.node(n.RootData)
	}
	return child
}

// keptPath is where the disk keeps a file of a folder, or the folder itself.
func (n *node) keptPath(names ...string) string {
	return filepath.Join(append([]string{n.disk.kept, n.Path(nil)}, names...)...)
}

// keep changes what is kept. What is not there was removed meanwhile.
func (n *node) keep(change func() error) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	if err := change(); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EISDIR) {
		panic(err)
	}
}

func (n *node) note(c change) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pending = append(n.pending, c)
	n.disk.nodes.Store(n, nil)
}

// sync keeps what was written.
func (n *node) sync() {
	n.mu.Lock()
	pending := n.pending
	n.pending = nil
	n.mu.Unlock()
	n.keep(func() error {
		file, err := os.OpenFile(n.keptPath(), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		for _, each := range pending {
			if each.length >= 0 {
				err = errors.Join(err, file.Truncate(each.length))
			} else {
				_, failed := file.WriteAt(each.data, each.offset)
				err = errors.Join(err, failed)
			}
		}
		return errors.Join(err, file.Close())
	})
}

func (n *node) Create(ctx context.Context, name string, flags, mode uint32,
	out *wire.EntryOut) (*fuse.Inode, fuse.FileHandle, uint32, syscall.Errno) {
	inode, handle, kernel, errno := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	n.keep(func() error {
		file, err := os.OpenFile(n.keptPath(name), os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			err = file.Close()
		}
		return err
	})
	of, _ := inode.Operations().(*node)
	if flags&syscall.O_TRUNC != 0 {
		of.note(change{length: 0})
	}
	return inode, &handleOf{handle, of, flags}, kernel, 0
}

func (n *node) Open(ctx context.Context, flags uint32) (fuse.FileHandle, uint32, syscall.Errno) {
	handle, kernel, errno := n.LoopbackNode.Open(ctx, flags)
	if errno != 0 {
		return nil, 0, errno
	}
	if flags&syscall.O_TRUNC != 0 {
		n.note(change{length: 0})
	}
	return &handleOf{handle, n, flags}, kernel, 0
}

func (n *node) Setattr(ctx context.Context, handle fuse.FileHandle, in *wire.SetAttrIn,
	out *wire.AttrOut) syscall.Errno {
	if of, isOurs := handle.(*handleOf); isOurs {
		handle = of.below
	}
	errno := n.LoopbackNode.Setattr(ctx, handle, in, out)
	if size, sets := in.GetSize(); sets && errno == 0 {
		n.note(change{length: int64(size)})
	}
	return errno
}

func (n *node) Getattr(ctx context.Context, handle fuse.FileHandle, out *wire.AttrOut) syscall.Errno {
	if of, isOurs := handle.(*handleOf); isOurs {
		handle = of.below
	}
	return n.LoopbackNode.Getattr(ctx, handle, out)
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32,
	out *wire.EntryOut) (*fuse.Inode, syscall.Errno) {
	inode, errno := n.LoopbackNode.Mkdir(ctx, name, mode, out)
	if errno == 0 {
		n.keep(func() error { return os.MkdirAll(n.keptPath(name), 0o700) })
	}
	return inode, errno
}

func (n *node) Rename(ctx context.Context, name string, parent fuse.InodeEmbedder, to string,
	flags uint32) syscall.Errno {
	errno := n.LoopbackNode.Rename(ctx, name, parent, to, flags)
	if into, isOurs := parent.(*node); isOurs && errno == 0 {
		n.keep(func() error { return os.Rename(n.keptPath(name), into.keptPath(to)) })
	}
	return errno
}

func (n *node) Unlink(ctx context.Context, name string) syscall.Errno {
	errno := n.LoopbackNode.Unlink(ctx, name)
	if errno == 0 {
		n.keep(func() error { return os.Remove(n.keptPath(name)) })
	}
	return errno
}

func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno {
	errno := n.LoopbackNode.Rmdir(ctx, name)
	if errno == 0 {
		n.keep(func() error { return os.RemoveAll(n.keptPath(name)) })
	}
	return errno
}

// CopyFileRange has programs copy by reading and writing, which is seen here.
func (*node) CopyFileRange(context.Context, fuse.FileHandle, uint64, *fuse.Inode, fuse.FileHandle, uint64, uint64,
	uint64) (uint32, syscall.Errno) {
	return 0, syscall.ENOSYS
}

// handleOf is an open file. It has no way past this program, as a file of the library has.
type handleOf struct {
	below fuse.FileHandle
	node  *node
	flags uint32
}

func (h *handleOf) Read(ctx context.Context, into []byte, offset int64) (wire.ReadResult, syscall.Errno) {
	return h.below.(fuse.FileReader).Read(ctx, into, offset)
}

func (h *handleOf) Write(ctx context.Context, data []byte, offset int64) (uint32, syscall.Errno) {
	written, errno := h.below.(fuse.FileWriter).Write(ctx, data, offset)
	h.node.note(change{data: append([]byte(nil), data[:written]...), offset: offset, length: -1})
	if h.flags&(syscall.O_SYNC|syscall.O_DSYNC) != 0 {
		h.node.sync()
	}
	return written, errno
}

func (h *handleOf) Fsync(context.Context, uint32) syscall.Errno {
	h.node.sync()
	return 0
}

func (h *handleOf) Flush(ctx context.Context) syscall.Errno {
	return h.below.(fuse.FileFlusher).Flush(ctx)
}

func (h *handleOf) Release(ctx context.Context) syscall.Errno {
	return h.below.(fuse.FileReleaser).Release(ctx)
}

// TestDisk holds that the disk forgets what was not synced, and nothing else.
func TestDisk(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	require.NoError(t, os.Mkdir(filepath.Join(d.path, "folder"), 0o700))
	file, err := os.Create(filepath.Join(d.path, "folder", "before"))
	require.NoError(t, err)
	_, err = file.WriteString("synced")
	require.NoError(t, err)
	require.NoError(t, file.Sync())
	require.NoError(t, os.Rename(filepath.Join(d.path, "folder", "before"), filepath.Join(d.path, "folder", "after")))
	_, err = file.WriteString(", forgotten")
	require.NoError(t, err)
	always, err := os.OpenFile(filepath.Join(d.path, "always"), os.O_CREATE|os.O_WRONLY|os.O_SYNC, 0o600)
	require.NoError(t, err)
	_, err = always.WriteString("kept")
	require.NoError(t, err)
	seen, err := os.ReadFile(filepath.Join(d.path, "folder", "after"))
	require.NoError(t, err)
	require.Equal(t, "synced, forgotten", string(seen))
	left := cut(t, []*disk{d})[0]
	seen, err = os.ReadFile(filepath.Join(left, "folder", "after"))
	require.NoError(t, err)
	require.Equal(t, "synced", string(seen))
	seen, err = os.ReadFile(filepath.Join(left, "always"))
	require.NoError(t, err)
	require.Equal(t, "kept", string(seen))
	require.NoError(t, file.Close())
	require.NoError(t, always.Close())
}
