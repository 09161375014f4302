import { formulaOf } from './formula.ts'
import {
  type Node,
  type OfficePackage,
  below,
  child,
  childrenNamed,
  childrenOf,
  relationOf,
  textIn,
} from './package.ts'

/** Text of drawings, common to all Office files: paragraphs, tables, charts, diagrams (ECMA-376, part 1, 20 and 21). */
export function paragraphOf(paragraph: Node): string {
  return childrenOf(paragraph)
    .map((part): string => {
      switch (part.name) {
        case 'r':
        case 'fld':
          return childrenNamed(part, 't').map(textIn).join('')
        case 'br':
          return '\n'
        case 'oMath':
        case 'oMathPara':
          return formulaOf(part)
        // The wrapper of a formula in slides, which has the same name as a matrix.
        case 'm':
          return childrenOf(part).map(formulaOf).join('')
        default:
          return ''
      }
    })
    .join('')
    .replace(/\v|_x000B_/gi, '\n')
}

export const linesIn = (body: Node | undefined): string[] =>
  childrenNamed(body, 'p')
    .map(paragraphOf)
    .filter((line) => line.trim() !== '')

export const inOneLine = (lines: readonly string[]): string => lines.join(' ').replace(/\s+/g, ' ').trim()

const rowsOf = (table: Node): string[] =>
  childrenNamed(table, 'tr').map((row) =>
    childrenNamed(row, 'tc')
      .map((cell) => inOneLine(linesIn(child(cell, 'txBody'))))
      .join('\t')
      .trimEnd(),
  )

export function describeDrawing(file: OfficePackage, part: string, node: Node): string[] {
  return childrenOf(node).flatMap((one): string[] => {
    switch (one.name) {
      case 'sp':
      case 'cxnSp':
        return isHidden(one) ? [] : [...linesIn(child(one, 'txBody')), ...linesIn(child(one, 'txSp', 'txBody'))]
      case 'txBody':
        return linesIn(one)
      case 'pic':
        return isHidden(one) ? [] : describeShape(one)
      case 'tbl':
        return rowsOf(one)
      case 'chart':
        return findRelated(file, part, relationOf(one)).flatMap(([name, tree]) => chartLines(name, tree))
      case 'relIds':
        return findRelated(file, part, relationOf(one, 'dm')).flatMap(([, tree]) => diagramLines(tree))
      case 'graphicFrame': {
        const lines = isHidden(one) ? [] : describeDrawing(file, part, one)
        return lines.length > 0 ? lines : describeShape(one)
      }
      default:
        return describeDrawing(file, part, one)
    }
  })
}

const isHidden = (shape: Node): boolean => {
  const hidden = propertiesOf(shape)?.attributes.hidden
  return hidden === '1' || hidden === 'true'
}

function propertiesOf(shape: Node): Node | undefined {
  for (const one of shape.children) if (/^nv\w*Pr$/.test(one.name)) return child(one, 'cNvPr')
  return undefined
}

function describeShape(shape: Node): string[] {
  const text = propertiesOf(shape)?.attributes.descr?.trim()
  return text ? [text] : []
}

function findRelated(file: OfficePackage, part: string, id: string | undefined): [string, Node][] {
  const target = id === undefined ? undefined : file.relations(part).get(id)?.target
  const tree = target === undefined ? undefined : file.tree(target)
  return tree === undefined ? [] : [[target!, tree]]
}

const diagramLines = (tree: Node): string[] => [...below(tree, 'pt')].flatMap((point) => linesIn(child(point, 't')))

const MAX_POINTS = 1_000

/** A chart's title and its series as a table: a line of categories, then one line each. */
function chartLines(_: string, tree: Node): string[] {
  const titles = [...below(tree, 'title')].flatMap((title) => [...below(title, 'rich')].flatMap(linesIn))
  const pointsOf = (node: Node | undefined): string[] =>
    node === undefined
      ? []
      : [...below(node, 'pt')].slice(0, MAX_POINTS).map((point) => childrenNamed(point, 'v').map(textIn).join(''))
  const series = [...below(tree, 'ser')]
  const categories = series
    .map((one) => pointsOf(child(one, 'cat') ?? child(one, 'xVal')))
    .find((list) => list.length > 0)
  const rows = series.map((one) =>
    [
      pointsOf(child(one, 'tx')).join(' ') || childrenNamed(child(one, 'tx'), 'v').map(textIn).join(''),
      ...pointsOf(child(one, 'val') ?? child(one, 'yVal')),
    ].join('\t'),
  )
  return [...titles, ...(categories === undefined ? [] : [['', ...categories].join('\t')]), ...rows].filter(
    (line) => line.trim() !== '',
  )
}
