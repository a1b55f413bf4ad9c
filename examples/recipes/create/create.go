// Package create creates what must not exist yet. docs/recipes/create.md explains it.
package create

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/busline/busline/bus"
)

// Account is what is created.
type Account struct {
	Email string `json:"email" jsonschema:"format=email"`
}

// EmailTaken is the type of the failure to create an account with an email that another account has. Its details are a
// [Taken].
const EmailTaken = "https://accounts.example/problems/email-taken"

// Taken names the account that has the email.
type Taken struct {
	Account int `json:"account"`
}

// Accounts keeps accounts in memory. The zero value is empty.
type Accounts struct {
	mu  sync.Mutex // protects ids
	ids map[string]int
}

// Create adds an account and returns its id.
func (a *Accounts) Create(ctx context.Context, httpRequestBody Account) (id int, httpStatusCode int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if id, taken := a.ids[httpRequestBody.Email]; taken {
		err := bus.Errorf(http.StatusConflict, "account %d has this email", id)
		return 0, 0, bus.ErrorWithDetails(err, EmailTaken, Taken{Account: id})
	}
	if a.ids == nil {
		a.ids = make(map[string]int)
	}
	id = len(a.ids) + 1
	a.ids[httpRequestBody.Email] = id
	bus.SetResponseHeader(ctx, "Location", fmt.Sprintf("/accounts/%d", id))
	return id, http.StatusCreated, nil
}

// Register returns the id of the account with an email, which it creates if there is none.
func Register(ctx context.Context, conn *bus.Conn, email string) (id int, err error) {
	var created struct{ ID int }
	arguments := bus.Args{"httpRequestBody": Account{Email: email}}
	err = conn.Call(ctx, "POST https://accounts.example/accounts", arguments, &created)
	if failed, ok := errors.AsType[*bus.Error](err); ok && failed.Type == EmailTaken {
		var taken Taken
		err := failed.DecodeDetails(&taken)
		return taken.Account, err
	}
	return created.ID, err
}
