package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// visit is a user in front of the page.
type visit struct {
	*stage
	*tab
	screenshots string    // "" if none are wanted
	figures     io.Writer // for what is measured
}

// step is one action of the user, or waits for something.
type step func() error

// do takes steps until one fails.
func do(steps ...step) error {
	for at, one := range steps {
		if err := one(); err != nil {
			return fmt.Errorf("step %d: %w", at+1, err)
		}
	}
	return nil
}

// inTurn combines several steps to one.
func inTurn(steps ...step) step { return func() error { return do(steps...) } }

func (v *visit) opens(hash string) step      { return func() error { return v.open(hash) } }
func (v *visit) clicks(selector string) step { return func() error { return v.click(selector) } }
func (v *visit) fills(selector, text string) step {
	return func() error { return v.fill(selector, text) }
}
func (v *visit) presses(keys string) step { return func() error { return v.press(keys) } }
func (v *visit) chooses(selector, value string) step {
	return func() error { return v.choose(selector, value) }
}
func (v *visit) sees(selector, text string) step {
	return func() error { return v.says(selector, text) }
}
func (v *visit) awaits(what, expression string, arguments ...string) step {
	return func() error { return v.until(what, expression, arguments...) }
}

// at waits until the page is at an address.
func (v *visit) at(hash string) step {
	return v.awaits("at "+hash, `location.hash === %s`, hash)
}

// takes makes a screenshot, if screenshots are wanted.
func (v *visit) takes(name string) step {
	return func() error {
		if v.screenshots == "" {
			return nil
		}
		picture, err := v.screenshot()
		if err != nil {
			return err
		}
		if len(picture) > maxPicture {
			return fmt.Errorf("the screenshot %s has %d bytes, above %d", name, len(picture), maxPicture)
		}
		return os.WriteFile(filepath.Join(v.screenshots, name+".png"), picture, pictureMode)
	}
}

const (
	maxPicture  = 300_000 // bytes, because they are kept in the repository
	pictureMode = 0o644
)

// useToken sets the page's token in its panel.
func (v *visit) useToken(token string) step {
	return func() error {
		return do(v.clicks("#caller"), v.fills("#token", token), v.clicks(`dialog [type="submit"]`))
	}
}
