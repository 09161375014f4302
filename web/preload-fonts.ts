import type { Plugin } from 'vite'

/** The fonts of every page: Latin subsets for text and titles. Other subsets load on demand. */
const FIRST = [/public-sans-latin-wght-normal/, /newsreader-latin-400-normal/]

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
