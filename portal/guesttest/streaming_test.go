package guesttest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"
)

// ginEngine has the ways in which handlers of gin stream.
func ginEngine() http.Handler {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	step := make(stepwise)
	engine.POST("/next", func(c *gin.Context) { step.next(c.Writer, c.Request) })
	engine.GET("/stream", func(c *gin.Context) {
		i := 0
		gone := c.Stream(func(w io.Writer) bool {
			if i > 0 {
				step.wait(c.Request.Context())
			}
			_, _ = fmt.Fprintln(w, "piece", i)
			i++
			return i < 2
		})
		_, _ = fmt.Fprintln(c.Writer, "gone", gone)
	})
	engine.GET("/events", func(c *gin.Context) {
		i := 0
		c.Stream(func(io.Writer) bool {
			if i > 0 {
				step.wait(c.Request.Context())
			}
			c.SSEvent("message", gin.H{"i": i})
			i++
			return i < 2
		})
	})
	engine.GET("/flush", func(c *gin.Context) {
		c.Header("Content-Type", "text/plain")
		_, _ = c.Writer.WriteString("first\n")
		c.Writer.Flush()
		step.wait(c.Request.Context())
		_, _ = c.Writer.WriteString("second\n")
	})
	engine.GET("/reader", func(c *gin.Context) {
		c.DataFromReader(http.StatusOK, 1<<20, "application/octet-stream",
			io.LimitReader(strings.NewReader(strings.Repeat("text", 1<<18)), 1<<20), map[string]string{"X-Extra": "yes"})
	})
	engine.GET("/json/:id", func(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"id": c.Param("id"), "q": c.Query("q")}) })
	engine.GET("/ip", func(c *gin.Context) { c.String(http.StatusOK, "%t", c.ClientIP() == "127.0.0.1") })
	engine.GET("/cookie", func(c *gin.Context) { c.SetCookie("a", "b", 60, "", "", true, false) })
	engine.GET("/redirect", func(c *gin.Context) { c.Redirect(http.StatusFound, "/json/1") })
	engine.GET("/abort", func(c *gin.Context) { c.AbortWithStatusJSON(http.StatusTeapot, gin.H{"error": "abort"}) })
	engine.POST("/form", func(c *gin.Context) {
		header, err := c.FormFile("file")
		if err != nil {
			c.String(http.StatusBadRequest, err.Error())
			return
		}
		c.String(http.StatusOK, "%s %d %s", header.Filename, header.Size, c.PostForm("name"))
	})
	return engine
}

// TestGin has streams of gin, whose clients have the first piece before the handler writes the second.
func TestGin(t *testing.T) {
	t.Parallel()
	form, formType := upload()
	compare(t, ginEngine, []comparison{
		{"Stream", piecewise("/stream", "piece 0"), "piece 0", "", ""},
		{"Stream, HEAD", request("HEAD /stream"), "405", "", ""},
		{"SSEvent", piecewise("/events", ""), "event:message", "", ""},
		{"Flush", piecewise("/flush", "first"), "first", "", ""},
		{"DataFromReader", request("GET /reader"), "200", "", ""},
		{"JSON", request("GET /json/a%20b?q=c"), "200", "", ""},
		{"ClientIP", request("GET /ip"), "200", "-Content-Length: 4; -body \"true\"; +Content-Length: 5; +body \"false\"",
			""},
		{"SetCookie", request("GET /cookie"), "200", "",
			"-Set-Cookie: a=b; Path=/; Max-Age=60; Secure; +Set-Cookie: a=b; Max-Age=60; Secure; Path=/guest.example"},
		{"Redirect", request("GET /redirect"), "302", "", ""},
		{"to the path without a slash", request("GET /json/1/"), "301", "", ""},
		{"AbortWithStatusJSON", request("GET /abort"), "418", "", ""},
		{"405", request("POST /stream"), "405", "", ""},
		{"404", request("GET /none"), "404", "", ""},
		{"FormFile", requestWith(form, "POST /form", formType), "200", "", ""},
	})
}

// echoServer has the ways in which handlers of echo stream.
func echoServer() http.Handler {
	server := echo.New()
	step := make(stepwise)
	server.POST("/next", func(c echo.Context) error {
		step.next(c.Response(), c.Request())
		return nil
	})
	server.GET("/flush", func(c echo.Context) error {
		c.Response().Header().Set(echo.HeaderContentType, echo.MIMETextPlain)
		c.Response().WriteHeader(http.StatusAccepted)
		for i := range 2 {
			if i > 0 {
				step.wait(c.Request().Context())
			}
			if _, err := fmt.Fprintln(c.Response(), "piece", i); err != nil {
				return err
			}
			c.Response().Flush()
		}
		return nil
	})
	server.GET("/events", func(c echo.Context) error {
		c.Response().Header().Set(echo.HeaderContentType, "text/event-stream")
		for i := range 2 {
			if i > 0 {
				step.wait(c.Request().Context())
			}
			if _, err := fmt.Fprintf(c.Response(), "id: %d\ndata: x\n\n", i); err != nil {
				return err
			}
			c.Response().Flush()
		}
		return nil
	})
	server.GET("/stream", func(c echo.Context) error {
		return c.Stream(http.StatusOK, "text/plain", io.LimitReader(strings.NewReader(strings.Repeat("text", 1<<18)), 1<<20))
	})
	server.GET("/gzip", func(c echo.Context) error {
		c.Response().Header().Set(echo.HeaderContentType, echo.MIMETextPlain)
		_, _ = io.WriteString(c.Response(), "first\n")
		c.Response().Flush()
		step.wait(c.Request().Context())
		_, err := io.WriteString(c.Response(), "second\n")
		return err
	}, echomiddleware.Gzip())
	server.GET("/json/:id", func(c echo.Context) error {
		return c.JSON(http.StatusOK, map[string]string{"id": c.Param("id"), "q": c.QueryParam("q")})
	})
	server.GET("/after", func(c echo.Context) error {
		if err := c.String(http.StatusOK, "text"); err != nil {
			return err
		}
		return echo.NewHTTPError(http.StatusTeapot, "too late")
	})
	server.GET("/error", func(echo.Context) error { return echo.NewHTTPError(http.StatusTeapot, "a teapot") })
	server.GET("/scheme", func(c echo.Context) error { return c.String(http.StatusOK, c.Scheme()) })
	server.GET("/ip", func(c echo.Context) error { return c.String(http.StatusOK, fmt.Sprint(c.RealIP() == "127.0.0.1")) })
	server.GET("/redirect", func(c echo.Context) error { return c.Redirect(http.StatusFound, "/json/1") })
	server.GET("/none", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
	return server
}

// TestEcho has streams of echo, whose clients have the first piece before the handler writes the second.
func TestEcho(t *testing.T) {
	t.Parallel()
	compare(t, echoServer, []comparison{
		{"Flush", piecewise("/flush", "piece 0"), "piece 0", "", ""},
		{"events", piecewise("/events", ""), "id: 0", "", ""},
		{"Stream", request("GET /stream"), "200", "+Content-Length: 1048576",
			"+Content-Length: 1048576; +Vary: Accept-Encoding"},
		{"Gzip, flushed", piecewise("/gzip", "first"), "first", "", ""},
		{"JSON", request("GET /json/a%20b?q=c"), "200", "", ""},
		{"error", request("GET /error"), "418", "", ""},
		{"error after the response", request("GET /after"), "200", "", ""},
		{"Scheme", request("GET /scheme"), "200", "", ""},
		{"RealIP", request("GET /ip"), "200", "-Content-Length: 4; -body \"true\"; +Content-Length: 5; +body \"false\"", ""},
		{"Redirect", request("GET /redirect"), "302", "", ""},
		{"NoContent", request("GET /none"), "204", "", ""},
		{"404", request("GET /nothing"), "404", "", ""},
		{"405", request("POST /stream"), "405", "", ""},
		{"HEAD", request("HEAD /stream"), "405", "", ""},
	})
}
