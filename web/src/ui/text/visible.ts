/** Marks of direction and invisible tags, by which a text may read otherwise than it is. */
const HIDDEN = /[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu

/** The same text with what cannot be seen made visible: in code and in what a tool is given. */
export const visible = (text: string): string =>
  text.replace(HIDDEN, (mark) => `⟨U+${mark.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`)
