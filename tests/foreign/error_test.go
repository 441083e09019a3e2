package foreign

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// errorText returns all parts of a server's error that a user sees.
func errorText(err error) string {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("[%s] %s; detail: %s; hint: %s", e.Code, e.Message, e.Detail, e.Hint)
}
