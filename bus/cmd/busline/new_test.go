package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNew makes a service outside of a module: it compiles and passes its tests, and what go generate writes is what is
// there.
func TestNew(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	status, stdout, stderr := busline(t, folder, "new", "service", "order-items", "--host", "items.shop.example")
	require.Zero(t, status, stderr)
	assert.Contains(t, stdout, "cd order-items\n  go test ./...\n  busline dev\n  "+
		"curl '127.0.0.1:8080/items.shop.example/greet?name=Ada'\n")
	made := filepath.Join(folder, "order-items")
	goTool(t, made, "vet", "./...")
	goTool(t, made, "test", "-count=1", "./...")
	generated := []string{"orderitemsapi/orderitems_gen.go", "orderitemsapi/orderitemsmock/orderitems.go"}
	before := read(t, made, generated...)
	goTool(t, made, "generate", "./...")
	assert.Equal(t, before, read(t, made, generated...))
	assert.Contains(t, read(t, made, "orderitemsapi/orderitems.go")[0], `Host = "items.shop.example"`)
	assert.Contains(t, read(t, made, "Dockerfile")[0], " ./.\n")
	assert.Contains(t, read(t, made, "go.mod")[0], "module items.shop.example\n")
	assert.Contains(t, stdout, "to build an image, require a version in place of it")

	status, _, stderr = busline(t, folder, "new", "service", "order-items")
	assert.Equal(t, 1, status)
	assert.Contains(t, stderr, "order-items is not empty: choose another name, or remove the folder")
}

// TestNew_InModule makes a service in a module that knows nothing of Busline.
func TestNew_InModule(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	goTool(t, root, "mod", "init", "shop.example")
	services := filepath.Join(root, "services")
	require.NoError(t, os.MkdirAll(filepath.Join(services, "stock"), 0o700)) // an empty folder is none
	status, stdout, stderr := busline(t, services, "new", "service", "stock")
	require.Zero(t, status, stderr)
	assert.Contains(t, stdout, "next:\n  go test ./...\n  busline dev ./stock\n")
	assert.NoFileExists(t, filepath.Join(services, "stock", "go.mod"))
	assert.Contains(t, read(t, services, "stock/main.go")[0], `"shop.example/services/stock/stockapi"`)
	assert.Contains(t, read(t, services, "stock/Dockerfile")[0], "-f services/stock/Dockerfile")
	goTool(t, root, "test", "-count=1", "./...")
}

// TestNew_Refused leaves nothing behind.
func TestNew_Refused(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(folder, "link")))
	for _, test := range []struct {
		arguments []string
		err       string
	}{
		{[]string{"Orders"}, `"Orders" is no name for a service: use lower case letters, digits and hyphens, as in order-items`},
		{[]string{"../orders"}, `"../orders" is no name for a service`},
		{[]string{"internal"}, `"internal" has a meaning for Go: choose another name`},
		{[]string{"orders", "--host", "a b"}, "--host: "},
		{[]string{"orders", "--host", "portal"}, "--host portal: the bus itself has that host; choose one such as orders.example"},
		{[]string{"link"}, "link is there, and is no folder: choose another name, or remove it"},
		{[]string{"orders", "--replace", "."}, "--replace .: it is no clone of Busline"},
		{nil, "say what the service is called: busline new service greeter"},
	} {
		status, _, stderr := busline(t, folder, append([]string{"new", "service"}, test.arguments...)...)
		assert.NotZero(t, status)
		assert.Contains(t, stderr, test.err)
	}
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "the link")
}

func read(t *testing.T, folder string, files ...string) (texts []string) {
	t.Helper()
	for _, each := range files {
		text, err := os.ReadFile(filepath.Join(folder, each))
		require.NoError(t, err)
		texts = append(texts, string(text))
	}
	return texts
}
