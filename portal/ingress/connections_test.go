package ingress_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal/ingress"
)

// remoteConn is a connection of a client with an address.
type remoteConn struct {
	net.Conn

	remote net.Addr
}

func (c *remoteConn) RemoteAddr() net.Addr { return c.remote }

// dialFrom connects a client with an address.
func (p *pipes) dialFrom(address string) net.Conn {
	client, server := net.Pipe()
	p.accept <- &remoteConn{server, &net.TCPAddr{IP: net.ParseIP(address)}}
	return client
}

// serveOn serves a handler on a listener until the returned function is called.
func serveOn(t *testing.T, listener *pipes, handler http.Handler, options ...ingress.ServerOption) (stop func()) {
	t.Helper()
	server := ingress.NewServer(listener, handler, options...)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, server.Serve(ctx)) })
	return func() {
		cancel()
		running.Wait()
	}
}

// TestMaxConnections has a server with three places, which the connections before take. Of each the test knows the
// client, and what it is about; the last one comes when there is no place.
func TestMaxConnections(t *testing.T) {
	t.Parallel()
	const idle, silent, half, works = "idle", "silent", "half", "works"
	type from struct{ client, does string }
	const a, b, c, sameAsA = "2001:db8::1", "192.0.2.2", "192.0.2.3", "2001:db8::2"
	for _, test := range []struct {
		name   string
		before [3]from
		apart  time.Duration // they come
		last   string        // the client of the last one
		closed int           // which is closed
	}{
		{"the one that is idle for longest", [3]from{{a, works}, {a, idle}, {a, idle}}, time.Second, a, 1},
		{"one that has sent nothing", [3]from{{a, silent}, {a, works}, {a, idle}}, time.Second, a, 0},
		{"one that has sent half a head", [3]from{{a, works}, {a, half}, {a, idle}}, time.Second, a, 1},
		{"one of the client with the most", [3]from{{b, idle}, {a, idle}, {a, idle}}, time.Second, c, 1},
		{"one of another client, as none of it waits", [3]from{{a, works}, {a, works}, {b, idle}}, time.Second, a, 2},
		{"the last one, as that of another client has waited too short", [3]from{{a, works}, {a, works}, {b, idle}},
			time.Millisecond, a, 3},
		{"a request of the client with the most", [3]from{{b, works}, {a, works}, {a, works}}, time.Second, c, 1},
		{"the last one, of the client with the most", [3]from{{b, works}, {a, works}, {a, works}}, time.Second, a, 3},
		{"the last one, of the same network", [3]from{{b, works}, {a, works}, {a, works}}, time.Second, sameAsA, 3},
		{"the last one, of a client with as many", [3]from{{a, works}, {b, works}, {c, works}}, time.Second, "192.0.2.4", 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				listener, release := newPipes(), make(chan struct{})
				stop := serveOn(t, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/works" {
						<-release
					}
					_, _ = io.WriteString(w, "here")
				}), ingress.WithMaxConnections(len(test.before)))
				var conns []net.Conn
				for _, each := range test.before {
					conn := listener.dialFrom(each.client)
					conns = append(conns, conn)
					switch each.does {
					case works:
						sendHead(t, conn, "/works", "\r\n")
					case half:
						sendHead(t, conn, "/", "")
					case idle:
						sendHead(t, conn, "/", "\r\n")
						assert.Equal(t, http.StatusOK, readAnswer(t, conn))
					}
					time.Sleep(test.apart)
					synctest.Wait()
				}
				conns = append(conns, listener.dialFrom(test.last))
				synctest.Wait()
				for at, conn := range conns {
					if at == test.closed {
						_, err := conn.Read(make([]byte, 1))
						assert.ErrorIs(t, err, io.EOF, "connection %d", at)
					}
				}
				close(release)
				for at, conn := range conns {
					switch {
					case at == test.closed:
						continue
					case at == len(test.before), test.before[at].does == idle, test.before[at].does == silent:
						sendHead(t, conn, "/", "\r\n")
					case test.before[at].does == half:
						_, err := io.WriteString(conn, "\r\n")
						require.NoError(t, err)
					}
					assert.Equal(t, http.StatusOK, readAnswer(t, conn), "connection %d", at)
				}
				for _, conn := range conns {
					require.NoError(t, conn.Close())
				}
				synctest.Wait()               // the server has seen it
				again := listener.dialFrom(a) // all places are free
				sendHead(t, again, "/", "\r\n")
				assert.Equal(t, http.StatusOK, readAnswer(t, again))
				require.NoError(t, again.Close())
				stop()
			})
		})
	}
}

func sendHead(t *testing.T, conn net.Conn, path, rest string) {
	t.Helper()
	_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\n%s", path, rest)
	require.NoError(t, err)
}

// readAnswer returns the status of a response, 0 if there is none.
func readAnswer(t *testing.T, conn net.Conn) int {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

// TestHeads holds that large heads have the room of bodies, while they are read and while their requests are carried:
// without room a connection is closed, and a request that has arrived is refused.
func TestHeads(t *testing.T) {
	t.Parallel()
	large := "X: " + strings.Repeat("a", 30_000) + "\r\n"
	for _, test := range []struct{ name, rest string }{
		{"half a head", large},
		{"a request that is carried", large + "\r\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
				const room, least = 100_000, 3 * (30_000 - 4<<10)
				entrance, err := ingress.New(b.Connect("ingress"), ingress.WithBodyLimit(1000), ingress.WithInFlightLimit(room))
				require.NoError(t, err)
				require.NoError(t, b.Connect("works.example").Handle("GET", "/",
					http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if r.Header.Get("X") != "" {
							<-r.Context().Done()
						}
					})))
				listener := newPipes()
				stop := serveOn(t, listener, entrance)
				first := listener.dialFrom("192.0.2.1")
				sendHead(t, first, "/works.example/", test.rest)
				synctest.Wait()
				assert.GreaterOrEqual(t, ingress.Held(entrance), int64(least))

				second := listener.dialFrom("192.0.2.2")
				_, err = io.WriteString(second, "GET / HTTP/1.1\r\nHost: a\r\n"+large)
				require.Error(t, err, "closed before all is sent")
				refused := httptest.NewRecorder()
				request := httptest.NewRequest(http.MethodGet, "/works.example/", http.NoBody)
				request.Header.Set("X", large)
				entrance.ServeHTTP(refused, request)
				assert.Equal(t, http.StatusServiceUnavailable, refused.Code)
				assert.Equal(t, "1", refused.Header().Get("Retry-After"))

				third := listener.dialFrom("192.0.2.3")
				sendHead(t, third, "/works.example/", "\r\n")
				assert.Equal(t, http.StatusOK, readAnswer(t, third), "a small one")
				for _, conn := range []net.Conn{first, second, third} {
					require.NoError(t, conn.Close())
				}
				synctest.Wait()
				assert.Zero(t, ingress.Held(entrance))
				stop()
			})
		})
	}
}

// TestRefusedBody holds that a client whose body has no room, and that sends no more, loses its connection soon.
func TestRefusedBody(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		const limit = 1000
		entrance, err := ingress.New(b.Connect("ingress"), ingress.WithBodyLimit(limit), ingress.WithInFlightLimit(limit))
		require.NoError(t, err)
		listener := newPipes()
		stop := serveOn(t, listener, entrance)
		var conns []net.Conn
		for range 2 {
			conn := listener.dial()
			_, err := fmt.Fprintf(conn, "POST /a.example/ HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", limit,
				strings.Repeat("a", limit-1))
			require.NoError(t, err)
			synctest.Wait()
			conns = append(conns, conn)
		}
		begun := time.Now()
		answer, err := io.ReadAll(conns[1])
		require.NoError(t, err)
		assert.Contains(t, string(answer), "503 Service Unavailable")
		assert.Less(t, time.Since(begun), 2*time.Second)
		for _, conn := range conns {
			require.NoError(t, conn.Close())
		}
		stop()
	})
}
