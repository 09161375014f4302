import { excerptOf } from '../excerpt.ts'
import { TooMuchWork, Work } from '../bounded/work.ts'
import { likeOf } from './like.ts'
import { type Machine, machineOf } from './machine.ts'
import { InvalidGlob, SLASH, tokensOf } from './tokens.ts'

export { InvalidGlob } from './tokens.ts'

/**
 * Ripgrep globs (gitignore syntax plus braces): `*` and `?` stay within a name, `**` crosses folders, `[a-z]`,
 * `[!a-z]`, `{a,b}`, `\` escapes. Without a slash, a glob matches names at any depth; with one, the whole path.
 */
export interface Glob {
  /** Takes up to glob length × path length steps. Throws `InvalidGlob` if that is too many. */
  matches(path: string, work?: Work): boolean
  /** A necessary condition for SQL `like`; `%` alone is none. */
  like: string
}

const MAX_GLOB = 1_000
/** Steps per path, 10 to 20 ms. Twenty ordinary globs need a third of them for the longest path. */
export const MAX_PATH_STEPS = 1_000_000

interface One {
  source: string
  not: boolean
  isAnchored: boolean
  ending: string | null
  machine: Machine
  like: string
}

export const compileGlob = (glob: string, options: { fold?: boolean } = {}): Glob =>
  globOf([parse(glob, options)], options)

/**
 * Combines globs as ripgrep does: the last match decides, `!` excludes, and with only exclusions everything else is
 * included.
 */
export function compileGlobs(globs: readonly string[], options: { fold?: boolean } = {}): Glob {
  return globOf(
    globs.map((glob) => ({ ...parse(glob.replace(/^!/, ''), options), not: glob.startsWith('!') })),
    options,
  )
}

function parse(glob: string, { fold = false }: { fold?: boolean }): One {
  if (glob.length > MAX_GLOB) throw new InvalidGlob(`A glob can have up to ${MAX_GLOB} characters.`)
  const isAnchored = glob.replace(/\/$/, '').includes('/')
  const words = glob.replace(/^\//, '').replace(/\/$/, '/**')
  const tokens = tokensOf(fold ? words.toLowerCase() : words)
  const [first, ...rest] = tokens
  const ending =
    first?.on === 'star' && rest.every((token) => token.on === 'char') ? rest.map(({ code }) => code) : null
  return {
    source: glob,
    not: false,
    isAnchored,
    ending: isAnchored || ending === null ? null : String.fromCodePoint(...ending),
    machine: machineOf(tokens),
    like: likeOf(words, isAnchored),
  }
}

function globOf(all: readonly One[], { fold = false }: { fold?: boolean }): Glob {
  const start = all.every(({ not }) => not)
  const excludes = all.some(({ not }) => not)
  const [only] = all
  const backwards = all.toReversed()
  return {
    matches(path, work = new Work(MAX_PATH_STEPS)) {
      const names = new Names(fold ? path.toLowerCase() : path, excludes)
      for (const one of backwards) {
        const verdict = verdictOf(one, names, work)
        if (verdict !== null) return verdict
      }
      return names.included ?? start
    },
    like: all.length === 1 && !only!.not ? only!.like : '%',
  }
}

/**
 * False if the glob excludes the path or a parent folder; otherwise records what it includes. Null: other globs decide.
 */
function verdictOf(one: One, names: Names, work: Work): boolean | null {
  try {
    // The last match decides, so an exclusion is final unless a later glob included the same name.
    if (one.not) return names.visit(one, work, (at) => !names.isIncluded(at)) ? false : null
    names.visit(one, work, (at) => {
      names.include(at)
      return false
    })
    return names.included === true && !names.foldersMatter ? true : null
  } catch (error) {
    if (!(error instanceof TooMuchWork)) throw error
    const excerpt = one.source.length > 80 ? `${excerptOf(one.source, 80)}…` : one.source
    throw new InvalidGlob(
      `The glob \`${excerpt}\` takes too long to match against a path of ${names.length} characters. Use fewer \`*\`, \`{…}\` and globs.`,
    )
  }
}

class Names {
  readonly length: number
  readonly foldersMatter: boolean
  readonly #text: string
  readonly #path: Int32Array
  readonly #included: Uint8Array

  constructor(text: string, foldersMatter: boolean) {
    this.#text = text
    this.foldersMatter = foldersMatter
    const path = new Int32Array(text.length)
    let length = 0
    for (const char of text) path[length++] = char.codePointAt(0)!
    this.#path = path.subarray(0, length)
    this.length = length
    this.#included = new Uint8Array(length + 1)
  }

  get included(): boolean | null {
    return this.#included[this.length] === 1 || null
  }
  isIncluded(at: number): boolean {
    return this.#included[at] === 1
  }
  include(at: number): void {
    this.#included[at] = 1
  }

  visit({ isAnchored, ending, machine }: One, work: Work, accept: (at: number) => boolean): boolean {
    const end = this.length
    const whole = this.foldersMatter ? accept : (at: number) => at === end && accept(at)
    if (isAnchored) return machine.run(this.#path, 0, end, work, whole)
    if (!this.foldersMatter && ending !== null) {
      work.spend(1 + (ending.length >> 3))
      const from = this.#text.lastIndexOf('/') + 1
      return this.#text.length - from >= ending.length && this.#text.endsWith(ending) && accept(end)
    }
    let from = this.foldersMatter ? 0 : this.#path.lastIndexOf(SLASH) + 1
    for (;;) {
      const slash = this.#path.indexOf(SLASH, from)
      const to = slash < 0 ? end : slash
      if (machine.run(this.#path, from, to, work, accept)) return true
      if (slash < 0) return false
      from = slash + 1
    }
  }
}
