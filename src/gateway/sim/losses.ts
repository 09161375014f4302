import type { Loss, Turn, TurnPart } from '../model/canonical-request.ts'
import { simModelOf } from './offers.ts'

/** What of a turn a simulated model does not heed. A temperature and the like are none of it: it draws no words. */
export function simLosses(turn: Turn): Loss[] {
  const losses: Loss[] = []
  if (turn.n !== undefined && turn.n > 1) losses.push('n')
  if (turn.response_format !== undefined && turn.response_format.type !== 'text') losses.push('response_format')
  for (const name of ['frequency_penalty', 'presence_penalty'] as const) if (turn[name]) losses.push(name)
  if (turn.verbosity !== undefined && turn.verbosity !== 'medium') losses.push('verbosity')
  const media = turn.messages.flatMap(({ content }) => content.flatMap(inside)).map(({ type }) => type)
  if (media.includes('image')) losses.push('messages.image')
  if (media.includes('file')) losses.push('messages.file')
  if (simModelOf(turn.model) === 'script') return losses
  if (turn.tools !== undefined && turn.tools.length > 0) losses.push('tools')
  if (turn.reasoning !== undefined && turn.reasoning.effort !== 'none') losses.push('reasoning')
  return losses
}

const inside = (part: TurnPart): TurnPart[] => (part.type === 'tool_result' ? part.content : [part])
