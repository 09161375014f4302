/** The start of a spreadsheet formula, including skipped characters (OWASP, "CSV Injection"). */
const FORMULA = /^[\s\0]*[=+\-@\t\r]/

/**
 * Returns a CSV line (RFC 4180) with CRLF. Text that looks like a formula gets a leading apostrophe. Null is an empty
 * field.
 */
export const csvLine = (values: readonly (string | number | boolean | null)[]): string =>
  `${values.map(field).join(',')}\r\n`

function field(value: string | number | boolean | null): string {
  if (value === null) return ''
  if (typeof value !== 'string') return String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
