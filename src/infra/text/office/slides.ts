import { type DocumentInput, type DocumentText, Unreadable, clip, plainRead } from '../documents/document.ts'
import { describeDrawing, linesIn } from './drawing.ts'
import type { Bounds } from '../documents/markup.ts'
import { type Node, OfficePackage, below, child, childrenNamed, relationOf, textIn } from './package.ts'

/** Presentation limits: some thousand slides. */
const MAX: Bounds = { elements: 500_000, attributes: 1_000_000, attributesOfOne: 1_000, depth: 200, tables: 20 }

/**
 * Reads slides in presentation order, each under its number: one line per paragraph, then notes and comments. Slides
 * not listed by the presentation are deleted ones.
 */
export async function readPptx({ bytes }: DocumentInput): Promise<DocumentText> {
  const file = await OfficePackage.open(bytes, MAX)
  const names = slidesOf(file)
  if (names.length === 0) throw new Unreadable('damaged', 'The PPTX file can’t be read.')
  const slides = names.map((name, i) => {
    const notes = file.findRelated(name, 'notesSlide').flatMap((part) => notesOf(file.tree(part)!))
    const comments = file.findRelated(name, 'comments').flatMap((part) => commentsOf(file.tree(part)!))
    const tree = child(file.tree(name), 'cSld', 'spTree') ?? file.tree(name)
    return [
      `# Slide ${i + 1}`,
      ...(tree === undefined ? [] : describeDrawing(file, name, tree)),
      ...(notes.length > 0 ? ['', 'Notes:', ...notes] : []),
      ...(comments.length > 0 ? ['', 'Comments:', ...comments] : []),
    ].join('\n')
  })
  const { text, truncated } = clip(slides.join('\n\n'))
  return plainRead(text, { parts: slides.length, truncated })
}

function slidesOf(file: OfficePackage): string[] {
  const main = file.main('ppt/presentation.xml')
  const presentation = file.tree(main)
  if (presentation !== undefined) {
    const relations = file.relations(main)
    return childrenNamed(child(presentation, 'sldIdLst'), 'sldId').flatMap((slide) => {
      const target = relations.get(relationOf(slide) ?? '')?.target
      return target !== undefined && file.bytes(target) !== undefined ? [target] : []
    })
  }
  // A file without a main part is read by slide number.
  return file
    .names()
    .filter((name) => /^ppt\/slides\/[^/]+\.xml$/.test(name))
    .toSorted((a, b) => numberIn(a) - numberIn(b))
}

const numberIn = (name: string): number => Number(/(\d+)\.xml$/.exec(name)?.[1] ?? 0)

/** Speaker notes without page number, date, header, and footer. */
const notesOf = (notes: Node): string[] =>
  [...below(notes, 'sp')].flatMap((shape) => {
    const type = child(shape, 'nvSpPr', 'nvPr', 'ph')?.attributes.type
    return /^(sldNum|dt|hdr|ftr|sldImg)$/.test(type ?? '') ? [] : linesIn(child(shape, 'txBody'))
  })

const commentsOf = (comments: Node): string[] =>
  [...below(comments, 'cm')].flatMap((comment) => [
    ...childrenNamed(comment, 'text').map(textIn),
    ...[...below(comment, 'txBody')].flatMap(linesIn),
  ])
