/** The beginning by which a spreadsheet knows a formula, with what it may skip before it (OWASP, "CSV Injection"). */
const FORMULA = /^[\s\0]*[=+\-@\t\r]/

/**
 * A line of CSV (RFC 4180) with its CRLF. Texts that a spreadsheet would take for a formula get an apostrophe before them;
 * numbers are ours and stay. Null is an empty field.
 */
export const csvLine = (values: readonly (string | number | boolean | null)[]): string =>
  `${values.map(field).join(',')}\r\n`

function field(value: string | number | boolean | null): string {
  if (value === null) return ''
  if (typeof value !== 'string') return String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
