import type { CanonicalMessage, CanonicalPart } from '../../../model/canonical-request.ts'
import type { Losses } from '../../shared/losses.ts'

type Result = Extract<CanonicalPart, { type: 'tool_result' }>

/** Results since their calls: some frameworks write one both as OpenAI and as Anthropic have it, and it is one. */
export class Results {
  readonly #known = new Map<string, { result: Result; foreign: boolean; text?: string }>()
  readonly #losses: Losses
  readonly #held: CanonicalMessage[] = []

  constructor(losses: Losses) {
    this.#losses = losses
  }

  /** An id that is called again may be answered again. */
  called(content: readonly CanonicalPart[]): void {
    for (const part of content) if (part.type === 'tool_call') this.#known.delete(part.id)
  }

  /** As a message of its own; none where it is told already. */
  told(result: Result): CanonicalMessage[] {
    return this.#isNew(result, false) ? [{ role: 'tool', content: [result] }] : []
  }

  /** A user's message; of one with results only these, for what else it says comes behind all results that follow. */
  among(content: CanonicalPart[], name: Pick<CanonicalMessage, 'name'>): CanonicalMessage[] {
    const results = content.filter((part) => part.type === 'tool_result')
    if (results.length === 0) return [...this.held(), { role: 'user', content, ...name }]
    const rest = content.filter(({ type }) => type !== 'tool_result')
    if (rest.length > 0) this.#held.push({ role: 'user', content: rest, ...name })
    const first = results.filter((result) => this.#isNew(result, true))
    return first.length > 0 ? [{ role: 'tool', content: first }] : []
  }

  /** Users' words beside results; asked for where the results end. */
  held(): CanonicalMessage[] {
    return this.#held.splice(0)
  }

  #isNew(result: Result, foreign: boolean): boolean {
    const twin = this.#known.get(result.id)
    if (twin === undefined || !(foreign || twin.foreign)) {
      this.#known.set(result.id, { result, foreign })
      return true
    }
    const { result: kept } = twin
    kept.is_error ||= result.is_error
    if (result.cache !== undefined) kept.cache ??= result.cache
    if (result.content.length === 0) return false
    if (kept.content.length === 0) {
      kept.content = result.content
      return false
    }
    twin.text ??= textIn(kept)
    if (twin.text !== textIn(result)) this.#losses.add('messages.tool_result')
    return false
  }
}

/** One text may be written as several parts. */
const textIn = ({ content }: Result): string =>
  content.map((part) => (part.type === 'text' ? part.text : JSON.stringify(part))).join('')
