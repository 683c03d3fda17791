/* Blur, sharpen and shrink a photograph several times: rows TIMES. Declares what it uses of libvips, without headers. */
#include <stdlib.h>
typedef struct Image Image;
int vips_init(const char *program);
Image *vips_image_new_from_file(const char *name, ...);
int vips_gaussblur(Image *in, Image **out, double sigma, ...), vips_sharpen(Image *in, Image **out, ...);
int vips_resize(Image *in, Image **out, double scale, ...), vips_image_write_to_file(Image *image, const char *name, ...);
void g_object_unref(void *object);

int main(int count, char **words) {
	for (int left = vips_init(words[0]) ? 1 : atoi(words[count - 1]); left--;) {
		Image *photo = vips_image_new_from_file("photo.ppm", "access", 1, NULL), *blurred, *sharp, *small;
		if (!photo || vips_gaussblur(photo, &blurred, 2.0, NULL) || vips_sharpen(blurred, &sharp, NULL) ||
		    vips_resize(sharp, &small, 0.5, NULL) || vips_image_write_to_file(small, "small.ppm", NULL))
			return 1;
		g_object_unref(photo), g_object_unref(blurred), g_object_unref(sharp), g_object_unref(small);
	}
}
