import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  base: '/app/',
  plugins: [react(), tailwind()],
  build: {
    target: 'es2023',
    // The Content-Security-Policy takes no `data:`.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  // `vite web` beside a running server: the pages of the one, the API of the other.
  server: { proxy: { '/v1': 'http://127.0.0.1:4242' } },
})
