package files_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/recipetest"
	"github.com/busline/busline/examples/recipes/files"
)

func open(t *testing.T) *os.Root {
	t.Helper()
	dir, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = dir.Close() })
	return dir
}

func TestPage(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	require.NoError(t, files.Serve(b.Connect("files.example"), open(t)))
	recipetest.Curl(t, b, "files", nil)
}

// TestUpload_Large sends more than a message holds, and breaks one off.
func TestUpload_Large(t *testing.T) {
	t.Parallel()
	b, dir := bustest.New(t), open(t)
	require.NoError(t, files.Serve(b.Connect("files.example"), dir))
	caller := b.Connect("caller.example")
	send := func(name string, content io.Reader) (*http.Response, error) {
		reader, writer := io.Pipe()
		form := multipart.NewWriter(writer)
		go func() {
			part, err := form.CreateFormFile("file", name)
			if err == nil {
				_, err = io.Copy(part, content)
			}
			if err == nil {
				err = form.Close()
			}
			writer.CloseWithError(err)
		}()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://files.example/upload", reader)
		require.NoError(t, err)
		request.Header.Set("Content-Type", form.FormDataContentType())
		return caller.Do(request)
	}
	const size = 40 << 20
	response, err := send("large.bin", bytes.NewReader(make([]byte, size)))
	require.NoError(t, err)
	response.Body.Close()
	info, err := dir.Stat("large.bin")
	require.NoError(t, err)
	assert.EqualValues(t, size, info.Size())

	broken := io.MultiReader(bytes.NewReader(make([]byte, size)), errReader{})
	if response, err = send("broken.bin", broken); err == nil {
		assert.GreaterOrEqual(t, response.StatusCode, 400)
		response.Body.Close()
	}
	_, err = dir.Stat("broken.bin")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
