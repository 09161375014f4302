/** As the server takes an id: a ULID in either case (src/kernel/ids.ts). */
const ID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i

/** The path with its ids in upper case, as everything that tells of them writes them: events, links, what is kept by id. */
export const canonicalPath = (path: string): string =>
  path
    .split('/')
    .map((part) => (ID.test(part) ? part.toUpperCase() : part))
    .join('/')
