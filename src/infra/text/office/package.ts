import { XMLParser } from 'fast-xml-parser'
import { charsetOf } from '../charset/charset.ts'
import { Unreadable } from '../documents/document.ts'
import type { Bounds } from '../documents/markup.ts'
import { type Parts, openParts } from '../documents/zip.ts'

/** An element with ordered children. Element names have no prefix, attribute names do. */
export interface Node {
  name: string
  attributes: Readonly<Record<string, string>>
  children: Node[]
  text: string
}

type Raw = Record<string, unknown>

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '',
  preserveOrder: true,
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  // Required for numeric character references.
  htmlEntities: true,
})

function nodeOf(raw: Raw): Node {
  const [tag = ''] = Object.keys(raw).filter((key) => key !== ':@')
  const inner = raw[tag]
  if (tag === '#text') return { name: '', attributes: {}, children: [], text: String(inner) }
  const children = Array.isArray(inner) ? (inner as Raw[]).map(nodeOf) : []
  const attributes = (raw[':@'] as Record<string, string> | undefined) ?? {}
  return { name: tag.slice(tag.indexOf(':') + 1), attributes, children, text: '' }
}

/** An attribute by its name without prefix, such as `val` for `w:val`. */
export function attribute(node: Node, name: string): string | undefined {
  const exact = node.attributes[name]
  if (exact !== undefined) return exact
  const key = Object.keys(node.attributes).find((one) => one.endsWith(`:${name}`))
  return key === undefined ? undefined : node.attributes[key]
}

/** A relationship ID, which has a prefix, unlike the element's own ID. */
export function relationOf(node: Node, name = 'id'): string | undefined {
  const key = Object.keys(node.attributes).find((one) => one.endsWith(`:${name}`))
  return key === undefined ? undefined : node.attributes[key]
}

/** Children, choosing among alternatives (ECMA-376, part 3, 7.5) the first with text. */
export function childrenOf(node: Node): Node[] {
  if (!node.children.some(({ name }) => name === 'AlternateContent')) return node.children
  return node.children.flatMap((child) => {
    if (child.name !== 'AlternateContent') return [child]
    const choice = child.children.find(hasText) ?? child.children[0]
    return choice === undefined ? [] : childrenOf(choice)
  })
}

const hasText = (node: Node): boolean =>
  (node.name === 't' && node.children.length > 0) ||
  node.name === 'relIds' ||
  node.name === 'chart' ||
  node.children.some(hasText)

export const child = (node: Node | undefined, ...path: string[]): Node | undefined =>
  path.reduce<Node | undefined>((at, name) => at && childrenOf(at).find((one) => one.name === name), node)

export const childrenNamed = (node: Node | undefined, name: string): Node[] =>
  node === undefined ? [] : childrenOf(node).filter((one) => one.name === name)

export function* below(node: Node, name: string): Generator<Node> {
  for (const one of childrenOf(node))
    if (one.name === name) yield one
    else yield* below(one, name)
}

export const textIn = (node: Node): string => node.text + node.children.map(textIn).join('')

export interface Relation {
  type: string
  /** A part's name, or an external address. */
  target: string
  external: boolean
}

/** An Office file: parts connected by relationships (ECMA-376, part 2). */
export class OfficePackage {
  readonly #parts: Parts
  readonly #trees = new Map<string, Node>()
  readonly #relations = new Map<string, ReadonlyMap<string, Relation>>()

  private constructor(parts: Parts) {
    this.#parts = parts
  }

  static async open(bytes: Uint8Array, bounds: Bounds): Promise<OfficePackage> {
    return new OfficePackage(await openParts(bytes, bounds, (name) => /\.(xml|rels)$/i.test(name)))
  }

  bytes(part: string): Buffer | undefined {
    return this.#parts.get(part)
  }

  names(): string[] {
    return [...this.#parts.keys()]
  }

  main(expected: string): string {
    const mainPart = [...this.relations('').values()].find(({ type }) => type === 'officeDocument')?.target
    return mainPart !== undefined && this.#parts.has(mainPart) ? mainPart : expected
  }

  tree(part: string): Node | undefined {
    const before = this.#trees.get(part)
    if (before !== undefined) return before
    const bytes = this.#parts.get(part)
    if (bytes === undefined) return undefined
    const tree = rootOf(bytes)
    if (tree !== undefined) this.#trees.set(part, tree)
    return tree
  }

  relations(part: string): ReadonlyMap<string, Relation> {
    const before = this.#relations.get(part)
    if (before !== undefined) return before
    const folder = part.slice(0, part.lastIndexOf('/') + 1)
    const tree = this.tree(`${folder}_rels/${part.slice(folder.length)}.rels`)
    const relations = new Map(
      childrenNamed(tree, 'Relationship').map((one) => {
        const { Id = '', Type = '', Target = '', TargetMode } = one.attributes
        const external = TargetMode === 'External'
        const target = external ? Target : resolve(folder, Target)
        return [Id, { type: Type.slice(Type.lastIndexOf('/') + 1), target, external }] as const
      }),
    )
    this.#relations.set(part, relations)
    return relations
  }

  findRelated(part: string, type: string): string[] {
    return [...this.relations(part).values()]
      .filter((one) => one.type === type && !one.external && this.#parts.has(one.target))
      .map(({ target }) => target)
  }
}

function rootOf(bytes: Buffer): Node | undefined {
  try {
    const text = new TextDecoder(charsetOf(bytes) ?? 'utf-8').decode(bytes)
    return (parser.parse(text) as Raw[]).map(nodeOf).find(({ name }) => name !== '' && !name.startsWith('?'))
  } catch {
    throw new Unreadable('damaged', 'Part of the document isn’t valid XML.')
  }
}

function resolve(folder: string, target: string): string {
  const path = unescapePath(target.startsWith('/') ? target.slice(1) : folder + target)
  const steps: string[] = []
  for (const step of path.split('/'))
    if (step === '..') steps.pop()
    else if (step !== '.' && step !== '') steps.push(step)
  return steps.join('/')
}

function unescapePath(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
