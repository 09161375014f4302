import { highlightSpecialChars } from '@codemirror/view'

/** Shows bidirectional controls and other invisible characters as labeled dots. */
export const hidden = highlightSpecialChars({ addSpecialChars: /[\u{e0000}-\u{e007f}]/gu })
