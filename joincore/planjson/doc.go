// Package planjson decodes and checks jobs. It turns the JSON of docs/job.md into a
// joincore.Checked. It is the only decoder of that format and does not trust its input:
// errors name the member in which something is not as it must be.
package planjson
