import { Cron } from 'croner'
import { shorten } from '#core/text/shorten.ts'
import { NICKNAMES } from '../contract.ts'

interface CronField {
  name: string
  accepted: string
}

/** In order. Five-field patterns omit seconds. */
const fields: readonly CronField[] = [
  { name: 'second', accepted: '0 to 59' },
  { name: 'minute', accepted: '0 to 59' },
  { name: 'hour', accepted: '0 to 23' },
  { name: 'day of month', accepted: '1 to 31, `L` for the last one, or `15W` for the nearest weekday' },
  { name: 'month', accepted: '1 to 12, or JAN to DEC' },
  { name: 'day of week', accepted: '0 to 7 (Sunday is 0 and 7), SUN to SAT, `5L` or `MON#2`' },
]
const LISTS = 'a list such as `1,5`, a range such as `1-5`, or a step such as `*/2`'
const LONGEST = 60

/** Null: the pattern is valid. */
export function cronFault(pattern: string): string | null {
  const text = pattern.trim()
  if (text.startsWith('@'))
    return NICKNAMES.includes(text.toLowerCase())
      ? null
      : `\`schedule\`: \`${shorten(text, LONGEST)}\` isn’t a known nickname. Accepted: ${NICKNAMES.join(', ')}.`
  const parts = text === '' ? [] : text.split(/\s+/)
  if (parts.length !== 5 && parts.length !== 6)
    return `\`schedule\` must have 5 fields (minute, hour, day of month, month, day of week) or 6 (with seconds first), such as \`0 9 * * 1-5\`, or be a local time such as \`2026-12-24T09:00\`. \`${shorten(text, LONGEST)}\` has ${parts.length}.`
  if (isCron(text)) return null
  const own = fields.slice(fields.length - parts.length)
  for (const [i, { name, accepted }] of own.entries()) {
    // Tests the field alone, among wildcards.
    if (isCron(parts.map((part, at) => (at === i ? part : '*')).join(' '))) continue
    return `\`schedule\`: \`${shorten(parts[i]!, LONGEST)}\` isn’t a valid ${name}. Accepted: ${accepted}, \`*\`, ${LISTS}.`
  }
  return `\`schedule\`: the fields of \`${shorten(text, LONGEST)}\` can’t be combined.`
}

function isCron(pattern: string): boolean {
  try {
    new Cron(pattern, { timezone: 'UTC', paused: true }).stop()
    return true
  } catch {
    return false
  }
}
