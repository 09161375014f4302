import type { Plugin } from 'vite'

/** What every page of the app writes with at once: text and titles in Latin letters. Other subsets come when they are needed. */
const FIRST = [/public-sans-latin-wght-normal/, /newsreader-latin-400-normal/]

/** Has the browser fetch the fonts of the first page beside the styles, not after them. */
export function preloadFonts(): Plugin {
  return {
    name: 'preload-fonts',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler: (_, { bundle, filename }) =>
        filename.endsWith('/web/index.html')
          ? Object.keys(bundle ?? {})
              .filter((name) => FIRST.some((font) => font.test(name)))
              .map((name) => ({
                tag: 'link',
                attrs: { rel: 'preload', as: 'font', type: 'font/woff2', href: `/app/${name}`, crossorigin: true },
                injectTo: 'head',
              }))
          : [],
    },
  }
}
