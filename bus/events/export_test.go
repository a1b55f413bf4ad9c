package events

import (
	"context"
	"errors"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/durable"
)

// StopAsking stops the timers of the consumers of a connection, so that no fetch counts as lost.
func StopAsking(c *bus.Conn) {
	for _, reader := range sourcesOf(c).reading() {
		reader.(*durable.Subscription).Stop()
	}
}

// HeldEvents returns how many stored events of a connection wait for room.
func HeldEvents(c *bus.Conn) (count int) {
	for _, reader := range sourcesOf(c).reading() {
		for _, consumer := range reader.(*durable.Subscription).Consumers() {
			count += consumer.Waiting()
		}
	}
	return count
}

// LookAtSubscribers has publishers of a connection look how far the services are.
func LookAtSubscribers(ctx context.Context, c *bus.Conn) (err error) {
	for _, watch := range sourcesOf(c).watching() {
		err = errors.Join(err, watch.(*durable.Watch).Look(ctx))
	}
	return err
}

// WatchGoesOn stops the watches of a connection, and reports whether one would have looked again.
func WatchGoesOn(c *bus.Conn) (again bool) {
	for _, watch := range sourcesOf(c).watching() {
		again = watch.(*durable.Watch).Stop() || again
	}
	return again
}

// KeyOf returns the key with which an event is stored.
func KeyOf[Arguments any](e Event[Arguments], arguments Arguments) (string, error) {
	event, err := e.message(arguments)
	return event.key, err
}

// NotesOf returns what /-/ready tells of the events of a connection.
func NotesOf(c *bus.Conn) []string { return sourcesOf(c).Notes() }

// Missed returns how many times of a schedule there are between two ticks.
func Missed(schedule string, after, before time.Time) (int, error) {
	times, err := parseSchedule(schedule)
	if err != nil {
		return 0, err
	}
	return times.missed(after, before), nil
}
