import type { CanonicalMessage, CanonicalPart } from '../../../model/canonical-request.ts'
import type { Losses } from '../../shared/losses.ts'

type Result = Extract<CanonicalPart, { type: 'tool_result' }>

/** Some frameworks write the same result in OpenAI's and in Anthropic's format. */
export class Results {
  readonly #known = new Map<string, { result: Result; foreign: boolean; text?: string }>()
  readonly #losses: Losses
  readonly #held: CanonicalMessage[] = []

  constructor(losses: Losses) {
    this.#losses = losses
  }

  /** A repeated ID may be answered again. */
  called(content: readonly CanonicalPart[]): void {
    for (const part of content) if (part.type === 'tool_call') this.#known.delete(part.id)
  }

  told(result: Result): CanonicalMessage[] {
    return this.#isNew(result, false) ? [{ role: 'tool', content: [result] }] : []
  }

  /** If the message has results, only those are returned; its other content waits until all following results. */
  among(content: CanonicalPart[], name: Pick<CanonicalMessage, 'name'>): CanonicalMessage[] {
    const results = content.filter((part) => part.type === 'tool_result')
    if (results.length === 0) return [...this.held(), { role: 'user', content, ...name }]
    const rest = content.filter(({ type }) => type !== 'tool_result')
    if (rest.length > 0) this.#held.push({ role: 'user', content: rest, ...name })
    const first = results.filter((result) => this.#isNew(result, true))
    return first.length > 0 ? [{ role: 'tool', content: first }] : []
  }

  held(): CanonicalMessage[] {
    return this.#held.splice(0)
  }

  #isNew(result: Result, foreign: boolean): boolean {
    const twin = this.#known.get(result.id)
    if (twin === undefined || !(foreign || twin.foreign)) {
      this.#known.set(result.id, { result, foreign })
      return true
    }
    const { result: first } = twin
    first.is_error ||= result.is_error
    if (result.cache !== undefined) first.cache ??= result.cache
    if (result.content.length === 0) return false
    if (first.content.length === 0) {
      first.content = result.content
      return false
    }
    twin.text ??= textIn(first)
    if (twin.text !== textIn(result)) this.#losses.add('messages.tool_result')
    return false
  }
}

/** One text may be written as several parts. */
const textIn = ({ content }: Result): string =>
  content.map((part) => (part.type === 'text' ? part.text : JSON.stringify(part))).join('')
