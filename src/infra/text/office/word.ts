import { type DocumentInput, MAX_TEXT, type DocumentText, Unreadable, clip, plainRead } from '../documents/document.ts'
import { describeDrawing, inOneLine } from './drawing.ts'
import { formulaOf } from './formula.ts'
import type { Bounds } from '../documents/markup.ts'
import {
  type Node,
  OfficePackage,
  attribute,
  below,
  child,
  childrenNamed,
  childrenOf,
  relationOf,
  textIn,
} from './package.ts'
import { symbolOf } from './symbols.ts'
import { Numbering, type Styles, stylesOf } from './word-lists.ts'

/** Document limits: some thousand pages. */
const MAX: Bounds = { elements: 300_000, attributes: 600_000, attributesOfOne: 1_000, depth: 200, tables: 6 }

/**
 * Reads a document's content in order: headers, paragraphs, tables, text boxes, formulas, footers, then notes and
 * comments. Headings, lists, tables, and links are marked as in Markdown.
 */
export async function readDocx({ bytes }: DocumentInput): Promise<DocumentText> {
  const file = await OfficePackage.open(bytes, MAX)
  const main = file.main('word/document.xml')
  const body = child(file.tree(main), 'body')
  if (body === undefined) throw new Unreadable('damaged', 'The DOCX file can’t be read.')
  const reader = new WordReader(file, main)
  const { text, truncated } = clip(reader.read(body))
  // An embedded document, which Word shows in its place.
  const [inner] = below(body, 'altChunk')
  return plainRead(text, { truncated, missing: inner === undefined ? null : 'incomplete' })
}

/** Elements that only wrap text. Deleted or moved text is omitted. */
const WRAPPERS = new Set(['sdt', 'sdtContent', 'customXml', 'smartTag', 'ins', 'moveTo', 'dir', 'bdo', 'fldSimple'])
const BREAK = '\n'

class WordReader {
  readonly #file: OfficePackage
  readonly #main: string
  readonly #styles: Styles
  readonly #numbering: Numbering
  #part: string
  #boxes: string[] = []
  #length = 0

  constructor(file: OfficePackage, main: string) {
    this.#file = file
    this.#main = main
    this.#part = main
    const tree = (type: string): Node | undefined => {
      const [name] = file.findRelated(main, type)
      return name === undefined ? undefined : file.tree(name)
    }
    this.#styles = stylesOf(tree('styles'))
    this.#numbering = new Numbering(tree('numbering'))
  }

  read(body: Node): string {
    const { headers, footers } = this.#headersAndFooters(body)
    const blocks = this.#blocks(body)
    return [
      ...headers.flatMap((part) => this.#partBlocks(part)),
      ...blocks,
      ...footers.flatMap((part) => this.#partBlocks(part)),
      ...this.#notes('footnotes', 'footnote', ''),
      ...this.#notes('endnotes', 'endnote', 'e'),
      ...this.#comments(),
    ].join('\n\n')
  }

  #headersAndFooters(body: Node): { headers: string[]; footers: string[] } {
    const textsOf = (name: string): string[] => {
      const parts = [...below(body, 'sectPr')].flatMap((section) =>
        childrenNamed(section, name).flatMap((reference) => {
          const target = this.#file.relations(this.#main).get(relationOf(reference) ?? '')?.target
          return target !== undefined && this.#file.bytes(target) !== undefined ? [target] : []
        }),
      )
      return [...new Set(parts)]
    }
    return { headers: textsOf('headerReference'), footers: textsOf('footerReference') }
  }

  #partBlocks(part: string): string[] {
    const tree = this.#file.tree(part)
    if (tree === undefined) return []
    this.#part = part
    const blocks = this.#blocks(tree)
    this.#part = this.#main
    return blocks
  }

  #notes(type: string, name: string, mark: string): string[] {
    return this.#file.findRelated(this.#main, type).flatMap((part) => {
      this.#part = part
      const notes = childrenNamed(this.#file.tree(part), name).flatMap((note) => {
        // Separators are typed notes.
        if (/separator|continuationNotice/i.test(attribute(note, 'type') ?? '')) return []
        const text = this.#blocks(note).join(' ').trim()
        return text === '' ? [] : [`[^${mark}${attribute(note, 'id') ?? ''}]: ${text}`]
      })
      this.#part = this.#main
      return notes
    })
  }

  #comments(): string[] {
    const comments = this.#file.findRelated(this.#main, 'comments').flatMap((part) =>
      childrenNamed(this.#file.tree(part), 'comment').flatMap((comment) => {
        const text = this.#blocks(comment).join(' ').trim()
        const author = attribute(comment, 'author')
        return text === '' ? [] : [author ? `${author}: ${text}` : text]
      }),
    )
    return comments.length === 0 ? [] : ['Comments:', ...comments]
  }

  #blocks(node: Node): string[] {
    const blocks: string[] = []
    for (const one of childrenOf(node)) {
      if (this.#length > MAX_TEXT * 2) break
      if (WRAPPERS.has(one.name)) blocks.push(...this.#blocks(one))
      else if (one.name === 'p') blocks.push(...this.#paragraph(one))
      else if (one.name === 'tbl') blocks.push(this.#table(one))
      else if (one.name === 'oMath' || one.name === 'oMathPara') blocks.push(formulaOf(one))
    }
    const nonEmptyBlocks = blocks.filter((block) => block.trim() !== '')
    return nonEmptyBlocks
  }

  #paragraph(paragraph: Node): string[] {
    const outer = this.#boxes
    this.#boxes = []
    const text = this.#inline(paragraph).trim()
    const boxes = this.#boxes
    this.#boxes = outer
    this.#length += text.length
    const properties = child(paragraph, 'pPr')
    const styleRef = child(properties, 'pStyle')
    const style = styleRef && attribute(styleRef, 'val')
    const outline = child(properties, 'outlineLvl')
    const level = outline === undefined ? null : Number(attribute(outline, 'val') ?? 9) + 1
    const heading = this.#styles.headingOf(style) ?? (level !== null && level < 7 ? level : null)
    const label = text === '' ? '' : this.#numbering.label(child(properties, 'numPr') ?? this.#styles.listOf(style))
    const mark = heading !== null && text !== '' ? `${'#'.repeat(heading)} ` : ''
    return [mark === '' ? label + text : mark + label.trimStart() + text, ...boxes].filter(
      (block) => block.trim() !== '',
    )
  }

  /** One line per row, even if a cell has several paragraphs or a table. */
  #table(table: Node): string {
    const [first, ...rest] = this.#rows(table).map((cells) => ({
      line: `| ${cells.join(' | ')} |`,
      columns: cells.length,
    }))
    if (first === undefined) return ''
    return [first.line, `|${' --- |'.repeat(Math.max(1, first.columns))}`, ...rest.map(({ line }) => line)].join(BREAK)
  }

  #rows(table: Node): string[][] {
    return childrenOf(table).flatMap((row): string[][] => {
      if (WRAPPERS.has(row.name)) return this.#rows(row)
      if (row.name !== 'tr' || child(row, 'trPr', 'del') !== undefined) return []
      return [this.#cells(row)]
    })
  }

  #cells(row: Node): string[] {
    return childrenOf(row).flatMap((cell): string[] => {
      if (WRAPPERS.has(cell.name)) return this.#cells(cell)
      return cell.name === 'tc' ? [inOneLine(this.#cellLines(cell))] : []
    })
  }

  #cellLines(cell: Node): string[] {
    return childrenOf(cell).flatMap((one): string[] => {
      if (WRAPPERS.has(one.name)) return this.#cellLines(one)
      if (one.name === 'tbl') return this.#rows(one).map((cells) => cells.join(' '))
      return one.name === 'p' ? this.#paragraph(one) : []
    })
  }

  #inline(node: Node): string {
    return childrenOf(node)
      .map((one): string => {
        if (WRAPPERS.has(one.name)) return this.#inline(one)
        switch (one.name) {
          case 'r':
            return this.#run(one)
          case 'hyperlink':
            return this.#link(one)
          case 'oMath':
          case 'oMathPara':
            return formulaOf(one)
          default:
            return ''
        }
      })
      .join('')
  }

  #link(link: Node): string {
    const text = this.#inline(link)
    const relation = this.#file.relations(this.#part).get(relationOf(link) ?? '')
    const url = relation?.external === true ? relation.target : null
    if (
      url === null ||
      text.trim() === '' ||
      url.replace(/^mailto:/, '').replace(/\/$/, '') === text.trim().replace(/\/$/, '')
    )
      return text
    return `[${text}](${url})`
  }

  #run(run: Node): string {
    return childrenOf(run)
      .map((one): string => {
        switch (one.name) {
          case 't':
            return textIn(one)
          case 'tab':
          case 'ptab':
            return '\t'
          case 'br':
          case 'cr':
            return BREAK
          case 'noBreakHyphen':
            return '-'
          case 'sym':
            return symbolOf(attribute(one, 'font') ?? '', attribute(one, 'char') ?? '')
          case 'footnoteReference':
            return `[^${attribute(one, 'id') ?? ''}]`
          case 'endnoteReference':
            return `[^e${attribute(one, 'id') ?? ''}]`
          case 'ruby':
            return this.#inline(child(one, 'rubyBase') ?? one)
          case 'drawing':
          case 'pict':
          case 'object':
            return this.#picture(one)
          default:
            return ''
        }
      })
      .join('')
  }

  /** Text boxes follow the paragraph; pictures show their alternative text. */
  #picture(picture: Node): string {
    const boxes = [...below(picture, 'txbxContent')].flatMap((box) => this.#blocks(box))
    const art = [...below(picture, 'textpath')].flatMap((path) => attribute(path, 'string') ?? [])
    const rest = describeDrawing(this.#file, this.#part, picture)
    const lines = [...boxes, ...art, ...(rest.length > 0 ? [rest.join(BREAK)] : [])]
    this.#boxes.push(...lines)
    const [description] = [...below(picture, 'docPr')].flatMap((one) => one.attributes.descr?.trim() || [])
    return lines.length === 0 ? (description ?? '') : ''
  }
}
