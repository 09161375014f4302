import { highlightSpecialChars } from '@codemirror/view'

/** Marks of direction and other characters that are not seen are drawn as dots that say what they are. */
export const hidden = highlightSpecialChars({ addSpecialChars: /[\u{e0000}-\u{e007f}]/gu })
