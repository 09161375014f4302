import { type Node, attribute, child, childrenNamed } from './package.ts'

export interface Styles {
  headingOf(style: string | undefined): number | null
  listOf(style: string | undefined): Node | undefined
}

export function stylesOf(tree: Node | undefined): Styles {
  const styles = new Map(childrenNamed(tree, 'style').map((style) => [attribute(style, 'styleId') ?? '', style]))
  const ask = <T>(id: string | undefined, answer: (style: Node, id: string) => T | undefined): T | undefined => {
    for (let steps = 0, at = id; at !== undefined && steps < 20; steps++) {
      const style = styles.get(at)
      if (style === undefined) return undefined
      const value = answer(style, at)
      if (value !== undefined) return value
      const basedOn = child(style, 'basedOn')
      at = basedOn && attribute(basedOn, 'val')
    }
    return undefined
  }
  return {
    headingOf(id) {
      if (id === undefined) return null
      const level = ask(id, (style) => {
        const name = child(style, 'name')
        const outline = child(style, 'pPr', 'outlineLvl')
        const byName = headingNamed(name === undefined ? '' : (attribute(name, 'val') ?? ''))
        return byName ?? (outline === undefined ? undefined : Number(attribute(outline, 'val') ?? 9) + 1)
      })
      const number = level ?? headingNamed(id)
      return number !== undefined && number >= 1 && number <= 9 ? Math.min(6, number) : null
    },
    listOf: (id) => ask(id, (style) => child(style, 'pPr', 'numPr')),
  }
}

function headingNamed(name: string): number | undefined {
  if (/^title$/i.test(name)) return 1
  const digit = /^heading ?([1-9])$/i.exec(name)?.[1]
  return digit === undefined ? undefined : Number(digit)
}

interface Level {
  format: string
  text: string
  start: number
}

export class Numbering {
  readonly #lists = new Map<string, { abstractId: string; levels: ReadonlyMap<number, Level> }>()
  readonly #counts = new Map<string, number[]>()

  constructor(tree: Node | undefined) {
    const abstract = new Map(
      childrenNamed(tree, 'abstractNum').map((one) => [attribute(one, 'abstractNumId') ?? '', levelsOf(one)]),
    )
    for (const one of childrenNamed(tree, 'num')) {
      const abstractRef = child(one, 'abstractNumId')
      const abstractId = (abstractRef && attribute(abstractRef, 'val')) ?? ''
      this.#lists.set(attribute(one, 'numId') ?? '', { abstractId, levels: abstract.get(abstractId) ?? new Map() })
    }
  }

  label(numbering: Node | undefined): string {
    const id = child(numbering, 'numId')
    const level = child(numbering, 'ilvl')
    const list = id === undefined ? undefined : (attribute(id, 'val') ?? '0')
    if (list === undefined || list === '0') return ''
    const depth = Math.min(8, Number((level && attribute(level, 'val')) ?? 0) || 0)
    const { abstractId = list, levels = new Map<number, Level>() } = this.#lists.get(list) ?? {}
    const indent = '  '.repeat(depth)
    const of = levels.get(depth)
    if (of === undefined || of.format === 'bullet') return `${indent}- `
    if (of.format === 'none') return indent
    const counts = this.#counts.get(abstractId) ?? []
    this.#counts.set(abstractId, counts)
    counts[depth] = (counts[depth] ?? of.start - 1) + 1
    counts.length = depth + 1
    const text = of.text.replace(/%([1-9])/g, (_, digit: string) => {
      const at = Number(digit) - 1
      const other = levels.get(at)
      return numberAs(other?.format ?? 'decimal', counts[at] ?? other?.start ?? 1)
    })
    return `${indent}${text} `
  }
}

const levelsOf = (abstract: Node): ReadonlyMap<number, Level> =>
  new Map(
    childrenNamed(abstract, 'lvl').map((one) => {
      const value = (name: string): string | undefined => {
        const element = child(one, name)
        return element && attribute(element, 'val')
      }
      const format = value('numFmt') ?? 'decimal'
      return [
        Number(attribute(one, 'ilvl') ?? 0),
        { format, text: value('lvlText') ?? '%1.', start: Number(value('start') ?? 1) || 0 },
      ]
    }),
  )

function numberAs(format: string, number: number): string {
  if (format === 'lowerLetter' || format === 'upperLetter') {
    const letter = String.fromCharCode(97 + ((number - 1) % 26)).repeat(Math.min(9, Math.ceil(number / 26)) || 1)
    return format === 'upperLetter' ? letter.toUpperCase() : letter
  }
  if (format === 'lowerRoman' || format === 'upperRoman') {
    const roman = romanOf(number)
    return format === 'upperRoman' ? roman.toUpperCase() : roman
  }
  return String(number)
}

function romanOf(number: number): string {
  const digits: [number, string][] = [
    [1000, 'm'],
    [900, 'cm'],
    [500, 'd'],
    [400, 'cd'],
    [100, 'c'],
    [90, 'xc'],
    [50, 'l'],
    [40, 'xl'],
    [10, 'x'],
    [9, 'ix'],
    [5, 'v'],
    [4, 'iv'],
    [1, 'i'],
  ]
  let remaining = number
  let roman = ''
  for (const [value, letters] of digits)
    for (; remaining >= value && roman.length < 20; remaining -= value) roman += letters
  return roman
}
