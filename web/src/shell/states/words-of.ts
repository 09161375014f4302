/** The words of an address that are worth searching for. */
export const wordsOf = (pathname: string): string =>
  pathname
    .split('/')
    .filter((part) => part !== '' && part !== 'app' && !/^[0-9A-HJKMNP-TV-Z]{26}$/.test(part))
    .map((part) => {
      try {
        return decodeURIComponent(part)
      } catch {
        return part
      }
    })
    .join(' ')
    .replaceAll(/[-_]+/g, ' ')
    .slice(0, 200)
