import type { IncomingMessage } from 'node:http'
import { Refusal } from '#kernel/errors.ts'

/** May stand once. Two lengths never come here: Node's parser refuses them. */
const ONCE: ReadonlySet<string> = new Set(['host', 'authorization', 'x-api-key'])
const LENGTHS: ReadonlySet<number> = new Set([...ONCE].map(({ length }) => length))

/**
 * The refusal of a request whose fields leave open where it goes or who sends it: none or two of `Host` (RFC 9112, 3.2),
 * two of a credential. Null: there is nothing to refuse. Node keeps the first of two and says nothing, so the fields are
 * read as they came.
 */
export function wrongFields({ headers, httpVersion, rawHeaders }: IncomingMessage): Refusal | null {
  if (headers.host === undefined && httpVersion === '1.1')
    return new Refusal('invalid_parameter', { message: 'A request names its `Host`.', param: 'Host' })
  const seen = new Set<string>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (!LENGTHS.has(rawHeaders[i]!.length)) continue
    const name = rawHeaders[i]!.toLowerCase()
    if (ONCE.has(name) && seen.has(name)) return twice(rawHeaders[i]!)
    seen.add(name)
  }
  return null
}

export const twice = (name: string): Refusal =>
  new Refusal('invalid_parameter', { message: `The header \`${name}\` may stand only once.`, param: name })
