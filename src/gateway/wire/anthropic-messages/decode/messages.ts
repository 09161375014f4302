import { refuse } from '#core/errors.ts'
import type { CanonicalMessage } from '../../../model/canonical-request.ts'
import { missing, object, string } from '../../shared/request-fields.ts'
import { cacheOf, withOuterMark } from '../../shared/cache-marks.ts'
import { Losses } from '../../shared/losses.ts'
import { contentOf } from './blocks.ts'

export function decodeSystem(system: unknown, losses: Losses): CanonicalMessage[] {
  const content = contentOf(system, 'system', losses)
  return content.length > 0 ? [{ role: 'system', content }] : []
}

/** Tool results of a user message become a `tool` message before its other content. */
export function decodeMessages(messages: unknown[], losses: Losses): CanonicalMessage[] {
  return messages.flatMap((value, i): CanonicalMessage[] => {
    const at = `messages.${i}`
    const message = object(value, at) ?? missing(at)
    const role = string(message['role'], `${at}.role`) ?? missing(`${at}.role`)
    if (message['content'] === undefined || message['content'] === null) missing(`${at}.content`)
    const content = withOuterMark(contentOf(message['content'], `${at}.content`, losses), cacheOf(message), losses)
    if (role === 'assistant' || role === 'system') return [{ role, content }]
    if (role !== 'user') {
      return refuse('invalid_parameter', {
        message: `\`${at}.role\` must be user, assistant or system.`,
        param: `${at}.role`,
      })
    }
    const results = content.filter(({ type }) => type === 'tool_result')
    const rest = content.filter(({ type }) => type !== 'tool_result')
    return [
      ...(results.length > 0 ? [{ role: 'tool' as const, content: results }] : []),
      ...(rest.length > 0 || results.length === 0 ? [{ role, content: rest } as const] : []),
    ]
  })
}
