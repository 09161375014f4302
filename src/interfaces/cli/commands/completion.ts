import type { ListedEndpoint } from '#core/registry.ts'
import { wordsOf } from '../../words.ts'
import { globals } from '../globals.ts'
import { Stop, codeOf } from '../exit.ts'
import { type Field, fieldsOf } from '../input/fields.ts'
import { commandGroups } from '../resolve.ts'
import type { Terminal } from '../terminal.ts'
import { topics } from '../help/topics.ts'

interface Special {
  words: readonly string[]
  usage: string
  summary: string
}
interface Word {
  word: string
  about: string
}
interface Tree {
  next: Map<string, Word[]>
  /** `chats list` → its flags. */
  flags: Map<string, Word[]>
  /** `chats list --status` → its values. */
  values: Map<string, string[]>
}

/** `uk completion bash|zsh|fish`: prints a script generated from the registry. */
export async function completion(
  [shell]: readonly string[],
  terminal: Terminal,
  specials: readonly Special[],
): Promise<number> {
  const write = shells[shell as keyof typeof shells]
  if (!write)
    throw new Stop('usage', `Choose a shell: ${Object.keys(shells).join(', ')}.`, 'Example: uk completion bash')
  await terminal.out(write(await readTree(specials)))
  return codeOf('ok')
}

async function readTree(specials: readonly Special[]): Promise<Tree> {
  const tree: Tree = { next: new Map(), flags: new Map(), values: new Map() }
  const add = (words: readonly string[], abouts: readonly string[]) =>
    words.forEach((word, i) => {
      const before = words.slice(0, i).join(' ')
      const siblings = tree.next.get(before) ?? []
      if (!siblings.some((one) => one.word === word))
        tree.next.set(before, [...siblings, { word, about: abouts[i] ?? '' }])
    })
  for (const [first, { area, listed }] of await commandGroups()) {
    add([first], [area.title])
    for (const one of listed) {
      const words = wordsOf(one)
      add(words, [area.title, ...words.slice(1).map(() => one.endpoint.summary)])
      readFlags(one, words.join(' '), tree)
    }
  }
  for (const { words, summary, usage } of specials) {
    add(
      words,
      words.map(() => summary),
    )
    const flags = usage.match(/--[a-z-]+/g) ?? []
    tree.flags.set(
      words.join(' '),
      [...flags, '--help'].map((word) => ({ word, about: globals[word.slice(2) as keyof typeof globals]?.[1] ?? '' })),
    )
  }
  add(['help'], ['Show help'])
  tree.next.set(
    'completion',
    ['bash', 'zsh', 'fish'].map((word) => ({ word, about: '' })),
  )
  tree.next.set('help', [
    ...tree.next.get('')!.filter(({ word }) => word !== 'help'),
    ...Object.keys(topics).map((word) => ({ word, about: '' })),
  ])
  return tree
}

function readFlags(listed: ListedEndpoint, words: string, tree: Tree): void {
  const fields = fieldsOf(listed.endpoint).filter((field) => !field.inPath)
  const own = fields.map((field): Word => ({ word: `--${field.flag}`, about: sentence(field) }))
  const others = Object.entries(globals).map(([name, [, about]]): Word => ({ word: `--${name}`, about }))
  tree.flags.set(words, [...own, ...others.filter(({ word }) => !own.some((one) => one.word === word))])
  for (const { flag, choices } of fields) if (choices.length > 0) tree.values.set(`${words} --${flag}`, [...choices])
}

const sentence = ({ description }: Field): string => description.split(/(?<=\.)\s/)[0]!

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
const joined = (words: readonly Word[]): string => quote(words.map(({ word }) => word).join(' '))
/** Longer words first: `chats list` must match before `chats`. */
const byLength = <T>(map: ReadonlyMap<string, T>): [string, T][] => [...map].toSorted(([a], [b]) => b.length - a.length)

const bash = ({ next, flags, values }: Tree): string => `# bash completion for uk
_uk() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[*]:1:COMP_CWORD-1}" words='' ask='' names='' name=''
  case "$before" in
${[...next].map(([words, follow]) => `    ${quote(words)}) words=${joined(follow)} ;;`).join('\n')}
${byLength(values)
  .map(([at, choices]) => valueCase(at, choices))
  .join('\n')}
${byLength(flags)
  .map(([words, follow]) => `    ${quote(words)} | ${quote(`${words} `)}*) words=${joined(follow)} ask=1 ;;`)
  .join('\n')}
  esac
  # Resource names come from the server.
  if [[ -n "$ask" && "$cur" != -* ]]; then
    names="$(uk complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)"
    if [[ -n "$names" ]]; then
      COMPREPLY=()
      while IFS= read -r name; do
        [[ "$name" == "$cur"* ]] && COMPREPLY+=("$(printf '%q' "$name")")
      done <<<"$names"
      return
    fi
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _uk uk
`

const valueCase = (at: string, choices: readonly string[]): string => {
  const flag = at.lastIndexOf(' ')
  return `    ${quote(at.slice(0, flag))}*${quote(at.slice(flag))}) words=${quote(choices.join(' '))} ;;`
}

const described = (words: readonly Word[]): string =>
  words.map(({ word, about }) => quote(`${word.replaceAll(':', '\\:')}${about === '' ? '' : `:${about}`}`)).join(' ')

const zsh = ({ next, flags, values }: Tree): string => `#compdef uk
_uk() {
  local before="\${(j: :)words[2,CURRENT-1]}"
  local -a follow names
  local ask=''
  case "$before" in
${[...next].map(([words, follow]) => `    ${quote(words)}) follow=(${described(follow)}) ;;`).join('\n')}
${byLength(values)
  .map(([at, choices]) => valueCase(at, choices).replace(/words='(.*)' ;;$/, 'follow=($1) ;;'))
  .join('\n')}
${byLength(flags)
  .map(([words, follow]) => `    ${quote(words)} | ${quote(`${words} `)}*) follow=(${described(follow)}); ask=1 ;;`)
  .join('\n')}
    *) _files; return ;;
  esac
  # Resource names come from the server.
  if [[ -n "$ask" && "\${words[CURRENT]}" != -* ]]; then
    names=(\${(f)"$(uk complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( \${#names} )); then compadd -a names; return; fi
  fi
  _describe uk follow || _files
}
if [ "$funcstack[1]" = _uk ]; then _uk "$@"; else compdef _uk uk; fi
`

const fishQuote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

const fish = ({ next, flags, values }: Tree): string => `# fish completion for uk
function __uk_at
  set -l words (commandline -opc)
  set -e words[1]
  set -l at (count (string split ' ' -- "$argv"))
  test "$words[1..$at]" = "$argv"
end
function __uk_after
  set -l words (commandline -opc)
  set -e words[1]
  test "$words" = "$argv"
end
${[...next].flatMap(([words, follow]) => follow.map(({ word, about }) => `complete -c uk -f -n ${fishQuote(`__uk_after ${words}`)} -a ${fishQuote(word)} -d ${fishQuote(about)}`)).join('\n')}
${[...flags]
  .flatMap(([words, follow]) =>
    follow.map(({ word, about }) => {
      const choices = values.get(`${words} ${word}`)
      return `complete -c uk -n ${fishQuote(`__uk_at ${words}`)} -l ${word.slice(2)} -d ${fishQuote(about)}${choices ? ` -x -a ${fishQuote(choices.join(' '))}` : ''}`
    }),
  )
  .join('\n')}
# Resource names come from the server.
complete -c uk -n 'test (count (commandline -opc)) -gt 1; and not string match -q -- "-*" (commandline -ct)' -a '(command -q uk; and uk complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`

const shells = { bash, zsh, fish }
