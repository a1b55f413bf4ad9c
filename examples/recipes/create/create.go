// Package create creates what must not exist yet. docs/recipes/create.md explains it.
package create

import (
	"context"
	"fmt"
	"sync"

	"github.com/busline/busline/bus"
)

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Accounts

// Host is where the accounts are on the bus.
const Host = "accounts.example"

// Accounts is a collection of accounts.
type Accounts interface {
	// Create adds an account and returns its id.
	//
	//busline:status 201
	//busline:problem 409 https://accounts.example/problems/email-taken EmailTaken
	Create(ctx context.Context, httpRequestBody Account) (id int, err error)
}

// Account is what is created.
type Account struct {
	Email string `json:"email" jsonschema:"format=email"`
}

// EmailTaken names the account that has the email already.
type EmailTaken struct {
	Account int `json:"account"`
}

// Store implements Accounts in memory. The zero value is empty.
type Store struct {
	mu  sync.Mutex // protects ids
	ids map[string]int
}

// Create adds an account and returns its id.
func (s *Store) Create(ctx context.Context, httpRequestBody Account) (id int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, ok := s.ids[httpRequestBody.Email]; ok {
		return 0, EmailTakenError(EmailTaken{Account: id}, "account %d has this email", id)
	}
	if s.ids == nil {
		s.ids = make(map[string]int)
	}
	id = len(s.ids) + 1
	s.ids[httpRequestBody.Email] = id
	bus.SetResponseHeader(ctx, "Location", fmt.Sprintf("/accounts/%d", id))
	return id, nil
}

// Register returns the id of the account with an email, which it creates if there is none.
func Register(ctx context.Context, accounts Accounts, email string) (id int, err error) {
	id, err = accounts.Create(ctx, Account{Email: email})
	if emailTaken, ok := AsEmailTaken(err); ok {
		return emailTaken.Account, nil
	}
	return id, err
}
