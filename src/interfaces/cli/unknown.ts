import type { ListedEndpoint } from '#core/registry.ts'
import { wordsOf } from '../words.ts'
import { bareVerb, verbs } from './aliases.ts'
import { specials, specialsUnder } from './commands/specials.ts'
import { Stop } from './exit.ts'
import { didYouMean, nearWords } from './near.ts'
import { type Found, commandGroups } from './resolve.ts'

export async function unknownCommand(
  match: Exclude<Found, { kind: 'command' }>,
  words: readonly string[],
): Promise<Stop> {
  if (match.kind === 'nothing') {
    const suggestions = await areasNear(words)
    return new Stop('usage', `Unknown command "${match.word}".`, didYouMean(suggestions) ?? 'See `uk help`.')
  }
  const group = match.words.join(' ')
  return new Stop(
    'usage',
    `Unknown command "${group} ${match.wrong}".`,
    didYouMean(await verbsNear(group, match.listed, match.wrong!)) ?? `See \`uk help ${group}\`.`,
  )
}

/** Areas with a similar name, those that have the second word as a command first. */
async function areasNear([first, second]: readonly string[]): Promise<string[]> {
  const groups = await commandGroups()
  const near = nearWords(first!, [...groups.keys(), ...specials.map(({ words }) => words[0]!)])
  if (second === undefined || second.startsWith('-')) return near.length > 0 ? near : [...bareVerb(first!)]
  // `uk list chats`: verb first, as in kubectl.
  const turned = near.includes(second) ? undefined : groups.get(second)
  const verb = [first!, ...(verbs[first!] ?? [])].find((word) => turned?.listed.some((one) => verbOf(one) === word))
  if (verb !== undefined) return [`${second} ${verb}`]
  const fits = (area: string): boolean =>
    (groups.get(area)?.listed.some((one) => verbOf(one) === second) ?? false) ||
    specialsUnder(area).some(({ words }) => words[1] === second)
  return [...near.filter(fits), ...near.filter((area) => !fits(area))]
}

/** Similar commands of the group, or the same command of its singular or plural: `uk computer list`. */
async function verbsNear(group: string, listed: readonly ListedEndpoint[], wrong: string): Promise<string[]> {
  const names = [...listed.map(verbOf), ...specialsUnder(group).map(({ words }) => words[1]!)]
  const groups = await commandGroups()
  const sibling = [`${group}s`, group.replace(/s$/, '')].find(
    (name) =>
      name !== group &&
      (groups.get(name)?.listed.some((one) => verbOf(one) === wrong) ||
        specialsUnder(name).some(({ words }) => words[1] === wrong)),
  )
  if (sibling !== undefined) return [`${sibling} ${wrong}`]
  return nearWords(wrong, names).map((verb) => `${group} ${verb}`)
}

const verbOf = (listed: ListedEndpoint): string => wordsOf(listed).slice(1).join(' ')
