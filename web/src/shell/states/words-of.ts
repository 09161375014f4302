import { shorten } from '../../../../src/core/text/shorten.ts'

export const wordsOf = (pathname: string): string =>
  shorten(
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
      .replaceAll(/[-_]+/g, ' '),
    200,
  )
