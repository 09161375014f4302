import type { uk } from '../../shared/api.ts'
import { typedNumber } from '../../ui/text/typed-number.ts'
import type { Automation } from '../queries.ts'
import { isOnce } from '../words.ts'
import type { WallTime } from '../zone.ts'
import { type Understood, understand } from './plain-words.ts'

export type When = 'words' | 'cron' | 'once' | 'webhook'

export interface AutomationDraft {
  name: string
  workspace_id: string
  when: When
  words: string
  cron: string
  once: string
  time_zone: string
  does: 'agent' | 'command'
  agent_id: string
  /** Empty: a new chat for each run. */
  chat_id: string
  prompt: string
  computer_id: string
  command: string
  overlap: Automation['overlap']
  catch_up: Automation['catch_up']
  max_cost_usd: string
  timeout_seconds: string
}

export const emptyDraft = (workspaceId: string, timeZone: string, agentId: string): AutomationDraft => ({
  name: '',
  workspace_id: workspaceId,
  when: 'words',
  words: '',
  cron: '',
  once: '',
  time_zone: timeZone,
  does: 'agent',
  agent_id: agentId,
  chat_id: '',
  prompt: '',
  computer_id: '',
  command: '',
  overlap: 'skip',
  catch_up: 'latest',
  max_cost_usd: '',
  timeout_seconds: '3600',
})

export const draftOf = (from: Automation, ownZone: string): AutomationDraft => {
  const { action, schedule } = from
  const once = isOnce(schedule)
  return {
    ...emptyDraft(from.workspace_id, from.time_zone ?? ownZone, action.type === 'agent' ? action.agent_id : ''),
    name: from.name,
    when: from.kind === 'webhook' ? 'webhook' : once ? 'once' : 'cron',
    cron: once ? '' : (schedule ?? ''),
    once: once ? schedule! : '',
    does: action.type,
    ...(action.type === 'agent'
      ? { prompt: action.prompt, chat_id: action.chat_id ?? '' }
      : { computer_id: action.computer_id, command: action.command }),
    overlap: from.overlap,
    catch_up: from.catch_up,
    max_cost_usd: from.max_cost_usd === null ? '' : String(from.max_cost_usd),
    timeout_seconds: String(from.timeout_seconds),
  }
}

/** The schedule of a draft, with the assumptions made; none for a webhook. */
export function scheduleOf(draft: AutomationDraft, now: WallTime): Understood | null {
  if (draft.when === 'webhook') return null
  if (draft.when === 'words') return understand(draft.words, now)
  return { schedule: (draft.when === 'cron' ? draft.cron : draft.once).trim(), assumed: null }
}

type NewAutomation = Parameters<typeof uk.automations.create>[0]

const actionOf = (draft: AutomationDraft): NewAutomation['action'] =>
  draft.does === 'agent'
    ? { type: 'agent', agent_id: draft.agent_id, chat_id: draft.chat_id || null, prompt: draft.prompt }
    : { type: 'command', computer_id: draft.computer_id, command: draft.command }

const rest = (draft: AutomationDraft) => ({
  name: draft.name,
  overlap: draft.overlap,
  catch_up: draft.catch_up,
  max_cost_usd: draft.max_cost_usd.trim() === '' ? null : typedNumber(draft.max_cost_usd),
  timeout_seconds: typedNumber(draft.timeout_seconds),
})

export const newAutomationOf = (draft: AutomationDraft, schedule: string | null): NewAutomation => ({
  ...rest(draft),
  workspace_id: draft.workspace_id,
  kind: schedule === null ? 'webhook' : 'cron',
  action: actionOf(draft),
  ...(schedule !== null && { schedule, time_zone: draft.time_zone }),
})

/**
 * The changed fields. The action is sent only if it changed, since that makes the person responsible for the
 * automation.
 */
export function changesOf(
  before: Automation,
  draft: AutomationDraft,
  schedule: string | null,
): Parameters<typeof uk.automations.update>[0] {
  const action = actionOf(draft)
  const savedAction = actionOf(draftOf(before, 'UTC'))
  const isRescheduled = schedule !== null && (schedule !== before.schedule || draft.time_zone !== before.time_zone)
  return {
    id: before.id,
    ...rest(draft),
    ...(JSON.stringify(action) !== JSON.stringify(savedAction) && { action }),
    ...(isRescheduled && { schedule, time_zone: draft.time_zone }),
  }
}
