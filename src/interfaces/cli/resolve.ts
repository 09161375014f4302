import { type Contracts, contracts, loadContracts } from '#modules/contracts.ts'
import type { Area } from '#core/contract.ts'
import { type ListedEndpoint, list } from '#core/registry.ts'
import { wordsOf } from '../words.ts'
import { areaOf, verbs } from './aliases.ts'

export type Found =
  | { kind: 'command'; listed: ListedEndpoint; rest: string[] }
  /** The start of several commands: `uk chats`. */
  | { kind: 'group'; listed: ListedEndpoint[]; words: string[]; wrong: string | null }
  | { kind: 'nothing'; word: string; known: string[] }

/** Finds the command these words name. Loads a single area if its name is the first word. */
export async function findCommand(words: readonly string[]): Promise<Found> {
  const result = await findExact(words)
  const area = result.kind === 'nothing' && words.length > 1 ? areaOf(words[0]!) : undefined
  if (area === undefined) return result
  const renamed = await findExact([area, ...words.slice(1)])
  return renamed.kind === 'command' ? renamed : result
}

async function findExact(words: readonly string[]): Promise<Found> {
  const name = words[0]!.replaceAll('-', '_')
  if (name in contracts) {
    const result = match(list([await contracts[name as keyof Contracts]()]), words)
    if (result.kind === 'command') return result
  }
  return match(list(await loadContracts()), words)
}

function match(listed: readonly ListedEndpoint[], words: readonly string[]): Found {
  const begins = (one: ListedEndpoint): boolean => wordsOf(one).every((word, i) => word === words[i])
  const longest = listed.filter(begins).toSorted((a, b) => wordsOf(b).length - wordsOf(a).length)[0]
  if (longest) return { kind: 'command', listed: longest, rest: words.slice(wordsOf(longest).length) }
  const group = listed.filter((one) => wordsOf(one)[0] === words[0])
  if (group.length === 0)
    return { kind: 'nothing', word: words[0]!, known: [...new Set(listed.map((one) => wordsOf(one)[0]!))] }
  const next = words[1]
  const byAlias = (verbs[next ?? ''] ?? []).flatMap((verb) =>
    group.filter((one) => wordsOf(one).slice(1).join(' ') === verb),
  )[0]
  if (byAlias) return { kind: 'command', listed: byAlias, rest: words.slice(2) }
  return {
    kind: 'group',
    listed: group,
    words: [words[0]!],
    wrong: next === undefined || next.startsWith('-') ? null : next,
  }
}

/** All commands by their first word, for help and completion. */
export const commandGroups = async (): Promise<Map<string, { area: Area; listed: ListedEndpoint[] }>> => {
  const groups = new Map<string, { area: Area; listed: ListedEndpoint[] }>()
  for (const one of list(await loadContracts())) {
    const word = wordsOf(one)[0]!
    const group = groups.get(word) ?? { area: one.area, listed: [] }
    group.listed.push(one)
    groups.set(word, group)
  }
  return groups
}
