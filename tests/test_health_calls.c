#include "health_scene.h"
Test(x, y) {}
