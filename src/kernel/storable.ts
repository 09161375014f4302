/** Words from outside as PostgreSQL takes them: it keeps neither NUL characters nor half of a surrogate pair. */
export const storable = (words: string): string => words.replaceAll('\0', '').toWellFormed()
