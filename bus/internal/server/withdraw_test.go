package server_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/subject"
)

// TestRouter_Withdraw holds that methods are withdrawn until they are served again, by whichever endpoint.
func TestRouter_Withdraw(t *testing.T) {
	t.Parallel()
	router := server.NewRouter()
	get, put := newEndpoint(t, "GET", "/a/{x}"), newEndpoint(t, "PUT", "/a/{x}")
	require.NoError(t, router.Add([]*server.Endpoint{get, put}))
	withdrawn := func(path string) []string {
		_, methods := router.AllMethods(subject.PublicPort, path)
		return methods
	}
	assert.Empty(t, withdrawn("/a/1"))
	router.Withdraw([]*server.Endpoint{get, put})
	assert.Empty(t, router.Methods(subject.PublicPort, "/a/1"))
	assert.Equal(t, []string{"GET", "HEAD", "PUT"}, withdrawn("/a/1"))
	assert.Empty(t, withdrawn("/b"))
	require.NoError(t, router.Add([]*server.Endpoint{newEndpoint(t, "GET", "/a/{other}")}))
	assert.Equal(t, []string{"PUT"}, withdrawn("/a/1"))
	router.Withdraw([]*server.Endpoint{newEndpoint(t, "PUT", "/a/{x}")})
	require.NoError(t, router.Add([]*server.Endpoint{put}))
	assert.Empty(t, withdrawn("/a/1"))
}
